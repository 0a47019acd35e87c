"""Every secret that a test gets is a canary: whatever gitbot prints or sends is searched for it.

The double of GitHub registers the tokens that it gives out, and looks into each request; the test's
set-up looks at what commands print, and at what a test's process wrote.
"""

from __future__ import annotations

import json
from typing import Any

_SECRETS: set[str] = set()
_FOUND: list[str] = []


def plant(secret: str) -> str:
    """The secret itself, which must not be seen from now on."""
    _SECRETS.add(secret)
    return secret


def search(where: str, said: object) -> None:
    """Remember where a secret is in what was said. `where` names the place for a person."""
    text = said if isinstance(said, str) else _text(said)
    _FOUND.extend(f"a secret is in {where}" for secret in _SECRETS if secret in text)


def found() -> list[str]:
    """Where secrets were since this was asked last."""
    places = sorted(set(_FOUND))
    _FOUND.clear()
    return places


def _text(said: Any) -> str:
    if isinstance(said, bytes):
        return said.decode("utf-8", "replace")
    return json.dumps(said, default=str)
