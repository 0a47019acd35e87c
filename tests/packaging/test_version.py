"""The version of a build is its tag or commit, from wherever it is built."""

import re
import shutil
import subprocess
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from gitbot import gitbot_version

ROOT = Path(__file__).resolve().parents[2]
NEEDED = (".gitattributes", ".git_archival.txt", "pyproject.toml", "README.md", "LICENSE")
HATCHLING = [sys.executable, "-m", "hatchling"]
UNKNOWN = "0.0.0"


def run(*words: str | Path, cwd: Path) -> str:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def git(*words: str, cwd: Path) -> str:
    return run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words, cwd=cwd)


def version(folder: Path) -> str:
    """What `hatchling version` prints there."""
    with warnings.catch_warnings(action="ignore"):  # a shallow clone may count too few commits
        found: str = ProjectMetadata(str(folder), PluginManager()).version
    return found


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository of gitbot with two commits and no tag."""
    folder = tmp_path / "clone"
    (folder / "gitbot").mkdir(parents=True)
    shutil.copy(ROOT / "gitbot" / "__init__.py", folder / "gitbot")
    for shipped in ("docs/reference", "policies", "templates"):
        (folder / shipped).mkdir(parents=True)
        (folder / shipped / "one.md").write_text("text\n")
    for name in NEEDED:
        shutil.copy(ROOT / name, folder)
    git("init", "--quiet", cwd=folder)
    git("add", ".", cwd=folder)
    git("commit", "--quiet", "-m", "one", cwd=folder)
    git("commit", "--quiet", "--allow-empty", "-m", "two", cwd=folder)
    return folder


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder


def archived(clone: Path) -> Path:
    """As the runner of an action gets it: what `git archive` gives, without .git."""
    git("archive", "-o", "../archive.tar", "HEAD", cwd=clone)
    return unpacked(clone.parent / "archive.tar", clone.parent / "archive")


def from_sdist(clone: Path) -> Path:
    run(*HATCHLING, "build", "-t", "sdist", "-d", "../sdist", cwd=clone)
    (sdist,) = (clone.parent / "sdist").glob("*.tar.gz")
    (folder,) = unpacked(sdist, clone.parent / "unpacked").iterdir()
    return folder


def shallow(clone: Path) -> Path:
    git("clone", "--quiet", "--depth=1", clone.as_uri(), "../shallow", cwd=clone)
    return clone.parent / "shallow"


def copied(clone: Path) -> Path:
    """As an engine is given it: neither .git nor what `git archive` fills in."""
    copy = clone.parent / "copy"
    shutil.copytree(clone, copy, ignore=shutil.ignore_patterns(".git"))
    return copy


def itself(clone: Path) -> Path:
    return clone


@pytest.mark.parametrize("built_from", [itself, archived, from_sdist])
def test_a_tagged_commit_has_the_version_of_its_tag(
    clone: Path, built_from: Callable[[Path], Path]
) -> None:
    git("tag", "v1.2.3", cwd=clone)
    assert version(built_from(clone)) == "1.2.3"


@pytest.mark.parametrize(
    ("built_from", "expected"),
    [
        (itself, "0.1.0.dev2+g{commit}"),
        (from_sdist, "0.1.0.dev2+g{commit}"),
        (shallow, "0.1.0.dev1+g{commit}"),
    ],
)
def test_a_commit_before_the_first_tag_is_named(
    clone: Path, built_from: Callable[[Path], Path], expected: str
) -> None:
    commit = git("rev-parse", "HEAD", cwd=clone)
    found = version(built_from(clone))
    shown = re.sub(r"\+g([0-9a-f]{7,40})$", "+g{commit}", found)
    assert shown == expected
    assert commit.startswith(found.partition("+g")[2])


def test_a_commit_after_a_tag_leads_to_the_next_minor(clone: Path) -> None:
    git("tag", "v1.2.3", cwd=clone)
    git("commit", "--quiet", "--allow-empty", "-m", "three", cwd=clone)
    assert version(clone).startswith("1.3.0.dev1+g")


def test_a_copy_without_git_has_the_version_that_its_builder_says(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "SETUPTOOLS_SCM_PRETEND_VERSION"
    recipe = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
    assert f"{name}=${{VERSION}}" in recipe
    copy = copied(clone)
    assert version(copy) == UNKNOWN
    monkeypatch.setenv(name, "1.2.3")
    assert version(copy) == "1.2.3"
    monkeypatch.setenv(name, "")
    assert version(copy) == UNKNOWN


def test_two_builds_of_a_commit_give_the_same_bytes(clone: Path) -> None:
    built = []
    for name in ("one", "two"):
        run(*HATCHLING, "build", "-d", f"../{name}", cwd=clone)
        built.append({it.name: it.read_bytes() for it in (clone.parent / name).iterdir()})
    assert built[0] == built[1]
    assert git("status", "--porcelain", "--ignored", cwd=clone) == ""


def test_gitbot_says_the_version_of_its_wheel(clone: Path) -> None:
    git("tag", "v1.2.3", cwd=clone)
    run(*HATCHLING, "build", "-t", "wheel", "-d", "../wheel", cwd=clone)
    (wheel,) = (clone.parent / "wheel").glob("*.whl")
    site = clone.parent / "site"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    asked = "from gitbot import gitbot_version; print(gitbot_version())"
    script = f"import sys; sys.path.insert(0, {str(site)!r}); {asked}"
    assert run(sys.executable, "-I", "-c", script, cwd=site) == "1.2.3"


def test_each_place_says_the_same_version() -> None:
    expected = f"gitbot {gitbot_version()}"
    assert run(sys.executable, "-m", "gitbot", "--version", cwd=ROOT) == expected
    assert run(sys.executable, "-m", "gitbot", "version", cwd=ROOT).splitlines()[0] == expected
