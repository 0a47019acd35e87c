"""Every secret that a test gets is a canary: gitbot may neither print, send nor write it.

The double of GitHub registers the tokens that it gives out, and looks into each request; the test's
set-up looks at what commands print, at what a test's process wrote, and into the files that gitbot
opened to write and that are there when the test is over.
"""

import json
import os
from pathlib import Path
from typing import Any

_SECRETS: set[str] = set()
_FOUND: list[str] = []
_WROTE: set[str] = set()


def plant(secret: str) -> str:
    """The secret itself, which must not be seen from now on."""
    _SECRETS.add(secret)
    return secret


def search(where: str, said: object) -> None:
    """Remember where a secret is in what was said. `where` names the place for a person."""
    text = said if isinstance(said, str) else _text(said)
    _FOUND.extend(f"a secret is in {where}" for secret in _SECRETS if secret in text)


def with_credentials(kubeconfig: Path) -> Path:
    """A file beside it with a token in it, which the client sends and nobody may see."""
    config = json.loads(kubeconfig.read_text("utf-8"))
    config["users"][0]["user"] = {"token": plant("c4n4ry-of-a-kubeconfig")}
    path = kubeconfig.with_name(f"{kubeconfig.name}-of-a-person")
    path.write_text(json.dumps(config), "utf-8")
    return path


def is_written(mode: object, flags: object) -> bool:
    """Whether a file that is opened like this is written: the arguments of Python's audit event."""
    if isinstance(mode, str):
        return not set(mode).isdisjoint("wax+")
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))


def wrote(path: object) -> None:
    if isinstance(path, str | Path):
        _WROTE.add(os.path.abspath(path))  # noqa: PTH100 - nothing may be opened or looked up here


def renamed(source: object, target: object) -> None:
    """A file that is written beside its place, and moved there when it is whole."""
    if isinstance(source, str | Path) and os.path.abspath(source) in _WROTE:  # noqa: PTH100
        wrote(target)


def search_files() -> None:
    for path in sorted(_WROTE):
        if Path(path).is_file():
            search(f"the file {Path(path).name}", Path(path).read_bytes())
    _WROTE.clear()


def found() -> list[str]:
    """Where secrets were since this was asked last."""
    places = sorted(set(_FOUND))
    _FOUND.clear()
    return places


def _text(said: Any) -> str:
    if isinstance(said, bytes):
        return said.decode("utf-8", "replace")
    return json.dumps(said, default=str)
