"""The public names: each can be had from `kodex`, and static checkers see the same ones."""

import ast
from pathlib import Path

import pytest

import kodex


@pytest.mark.parametrize("name", kodex.__all__)
def test_a_public_name_can_be_had(name):
    assert getattr(kodex, name) is not None


def test_static_checkers_see_the_same_names():
    tree = ast.parse(Path(kodex.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in block.body for alias in node.names}
    assert seen == set(kodex.__all__) - {"__version__"}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'learn'"):
        _ = kodex.learn
