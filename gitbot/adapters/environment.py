"""Secrets and addresses in the environment. No message contains a secret."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from gitbot.errors import UsageError


def is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is not a number, half an IPv6 address
        return False


def in_file(environment: Mapping[str, str], variable: str, read: Callable[[str], str]) -> str:
    """The text of the file that a variable names; "" without the variable. Raises UsageError."""
    path = environment.get(variable)
    if not path:
        return ""
    try:
        return read(path).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"{variable}: {path} cannot be read: {reason}") from error


def read_file(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")
