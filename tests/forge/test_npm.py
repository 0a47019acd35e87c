"""Packages of npm for tests: only the pinned archive, only the named files, none outside."""

import base64
import hashlib
import io
import shutil
import tarfile
from pathlib import Path

import pytest

from tests.forge import npm


def archive(path: Path, *names: str) -> str:
    """An archive as npm packs it; its integrity."""
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            data = name.encode()
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    digest = hashlib.sha512(path.read_bytes()).digest()
    return f"sha512-{base64.b64encode(digest).decode()}"


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """`npm pack` gives an archive of ours, whatever is asked of it."""
    made = tmp_path / "a.tgz"
    integrity = archive(made, "wanted.json", "other.json", "../outside.json")

    def pack(_: npm.Package, place: Path) -> Path:
        return Path(shutil.copy(made, place))

    monkeypatch.setattr(npm, "_packed", pack)
    monkeypatch.setattr(npm, "CACHE", tmp_path / "cache")
    return tmp_path, integrity


def package(integrity: str, *files: str) -> npm.Package:
    return npm.Package(name="@a/b", version="1.0.0", integrity=integrity, files=files)


def test_only_the_named_files_are_taken(packed: tuple[Path, str]) -> None:
    folder = npm.fetch(package(packed[1], "wanted.json"))
    assert [path.name for path in folder.rglob("*")] == ["wanted.json"]
    assert npm.fetch(package(packed[1], "wanted.json")) == folder


@pytest.mark.parametrize(
    ("integrity", "files", "said"),
    [
        ("sha512-AAAA", ("wanted.json",), "expected sha512-AAAA"),
        ("", ("absent.json",), "lacks one of absent.json"),
        ("", (), "outside of its folder"),
    ],
)
def test_what_is_not_as_pinned_is_refused(
    packed: tuple[Path, str], integrity: str, files: tuple[str, ...], said: str
) -> None:
    wanted = package(integrity or packed[1], *files)
    with pytest.raises(SystemExit, match=said):
        npm.fetch(wanted)
    assert not wanted.folder.exists()
