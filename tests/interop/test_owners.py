"""The owners of the formats agree with kodex, where `make interop` has installed them."""

import pytest
from owners import OWNERS, exchange, python_of


@pytest.mark.parametrize("owner", OWNERS)
def test_the_owner_opens_what_we_write_and_we_open_what_it_writes(owner, tmp_path):
    if python_of(owner) is None:
        pytest.skip(f"{owner} has an environment of its own, which `make interop` makes")
    exchange(owner, tmp_path)
