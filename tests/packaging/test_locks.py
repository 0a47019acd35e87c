"""What the lock files must say so that pip takes them also when the index has newer releases."""

import re
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))


def locked(lock: Path) -> dict[str, set[str]]:
    """The name of each locked package, and the extras that its line has."""
    rows = re.findall(r"^([a-z0-9._-]+)(?:\[([^]]+)\])?==", lock.read_text("utf-8"), re.MULTILINE)
    return {canonicalize_name(name): set(filter(None, extras.split(","))) for name, extras in rows}


def asked_extras(names: set[str]) -> dict[str, set[str]]:
    """The extras that installed packages of a lock ask of others."""
    asked: dict[str, set[str]] = {}
    for name in names:
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue
        for needed in map(Requirement, lines):
            if needed.extras and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
                asked.setdefault(canonicalize_name(needed.name), set()).update(needed.extras)
    return asked


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_names_the_extras_that_its_packages_ask_for(lock: Path) -> None:
    """
    pip before 23.3 does not apply `coverage==7.17.3` to `coverage[toml]>=7`: with hashes it refuses
    the newest release that it finds, so that the lock is of no use once there is one.
    """
    has = locked(lock)
    asked = asked_extras(set(has))
    assert asked, "PyGithub asks for pyjwt[crypto]: nothing was read"
    assert {name: extras - has[name] for name, extras in asked.items() if extras - has[name]} == {}
