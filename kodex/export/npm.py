"""What a page needs of others: MuJoCo's WASM build and three.js, fetched once with npm.

The versions are pinned with their checksums. What was fetched is kept, so that later exports need
no network; where there is no npm, the two files can be put there by hand.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kodex.errors import MissingFeatureError


@dataclass(frozen=True)
class Package:
    """A package of npm, at one version."""

    name: str
    version: str
    sha512: str  # of the tarball, in base64, as npm writes it
    files: dict[str, str]  # name in the page's lib/ -> path in the package

    @property
    def tarball(self) -> str:
        """The file name that `npm pack` gives it."""
        return f"{self.name.lstrip('@').replace('/', '-')}-{self.version}.tgz"


MUJOCO = Package(
    "@mujoco/mujoco",
    "3.14.0",
    "WPUYidu4Fx8+uM4hQv80SOA0ifpWGrsNJguKs8JBV8SCTxjKQ2/rqsh880nUH0/Vwa8vuefghvCQkkoed3bkUg==",
    {"mujoco.js": "mujoco.js", "mujoco.wasm": "mujoco.wasm"},
)
THREE = Package(
    "three",
    "0.187.0",
    "Qiu7R+Cmh8CstZsY1uJOSWnVlfo7ZtNLV7mF8Jltk3LB3AtDu9cRZlcnRKkAk8Y4z6KKw35z7Y7Urd7jWY8etA==",
    {
        "three.module.js": "build/three.module.js",
        "three.core.js": "build/three.core.js",
        "OrbitControls.js": "examples/jsm/controls/OrbitControls.js",
    },
)


def kept_at() -> Path:
    """Return the folder in which fetched packages are kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "kodex" / "npm"


def write_libraries(folder: Path, packages: tuple[Package, ...] = (MUJOCO, THREE)) -> None:
    """Write the files of `packages` to `folder`, with their licences' names beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in packages:
        with tarfile.open(_fetched(package)) as archive:
            for name, path in package.files.items():
                member = archive.extractfile(f"package/{path}")
                assert member is not None
                (folder / name).write_bytes(member.read())


def _fetched(package: Package) -> Path:
    """Return the package's tarball, fetched if it is not kept yet, with its checksum checked."""
    path = kept_at() / package.tarball
    if not path.is_file():
        _fetch(package, path)
    digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if digest != package.sha512:
        raise MissingFeatureError(
            f"{path} is not {package.name} {package.version}: its checksum differs; remove it, "
            "and export again"
        )
    return path


def _fetch(package: Package, path: Path) -> None:
    npm = shutil.which("npm")
    wanted = f"{package.name}@{package.version}"
    by_hand = f"run `npm pack {wanted}` elsewhere, and put the file into {path.parent}"
    if npm is None:
        raise MissingFeatureError(f"a page needs {wanted}, and there is no npm here: {by_hand}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        command = [npm, "pack", "--silent", wanted]
        # Names and versions are written out in this package.
        answer = subprocess.run(  # noqa: S603
            command, cwd=folder, capture_output=True, text=True, check=False
        )
        fetched = Path(folder) / package.tarball
        if answer.returncode != 0 or not fetched.is_file():
            raise MissingFeatureError(f"npm could not fetch {wanted}; {by_hand}")
        fetched.replace(path)
