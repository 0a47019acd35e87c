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


def read_file(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def secret(
    environment: Mapping[str, str], variable: str, read: Callable[[str], str] = read_file
) -> str:
    """A variable, or the text of the file that VARIABLE_FILE names; "" without both.

    Raises UsageError if the file cannot be read.
    """
    if given := environment.get(variable):
        return given
    name = f"{variable}_FILE"
    path = environment.get(name)
    if not path:
        return ""
    try:
        return read(path).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise UsageError(f"{name}: {path} cannot be read: {reason}") from error
