"""GitHub's refusals in words that say which permission or setting is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gitbot.errors import ForgeError, ForgeRefused
from gitbot.model.text.wording import shortened

# https://docs.github.com/en/rest/overview/permissions-required-for-github-apps: the header names
# the permissions that would do, one list for each way to get through.
_PERMISSIONS = "x-accepted-github-permissions"
_SCOPES = "x-accepted-oauth-scopes"
_MAX_SAID = 300


class GitHubRefusal(ForgeRefused):
    """GitHub refused. `status` is the HTTP status, `said` its message and errors."""

    def __init__(self, message: str, *, status: int, said: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.said = said

    @property
    def absent(self) -> bool:
        """Whether the object does not exist, or is hidden from these credentials."""
        return self.status in (404, 410)

    @property
    def forbidden(self) -> bool:
        return self.status in (401, 403)


class Unanswered(ForgeError):
    """There was no usable answer. A write may have taken effect: read before you go on."""


def refused(what: str, status: int, headers: Mapping[str, str], body: str) -> GitHubRefusal:
    said = _said(body)
    hint = _hint(status, headers, said)
    return GitHubRefusal(
        f"GitHub refused to {what} ({status}): {said or 'no reason given'}",
        status=status,
        said=said,
        hint=hint,
    )


def _said(body: str) -> str:
    """Message and errors of an answer in one line; "" for HTML and empty answers."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    words = [str(value.get("message") or "")]
    errors = value.get("errors")
    words += [_error(item) for item in errors] if isinstance(errors, list) else []
    text = ": ".join(dict.fromkeys(word.rstrip(".") for word in words if word))
    return shortened(" ".join(text.split()), _MAX_SAID)


def _error(item: Any) -> str:
    """One element of `errors` of a 422: a text, or resource, field and code."""
    if not isinstance(item, dict):
        return str(item)
    if item.get("message"):
        return str(item["message"])
    return " ".join(str(item[key]) for key in ("resource", "field", "code") if item.get(key))


def _hint(status: int, headers: Mapping[str, str], said: str) -> str:
    lower = said.lower()
    if status == 401:
        return "the token is wrong, revoked or expired: make a new one"
    if "not permitted to create or approve pull requests" in lower:
        return (
            "switch on Settings, Actions, General, Allow GitHub Actions to create and approve "
            "pull requests, or act as a GitHub App"
        )
    if "suspended" in lower:
        return "an owner has to unsuspend the App's installation"
    if "archived" in lower:
        return "the repository is archived: nothing can be written there"
    if status in (403, 404):
        return _missing_right(headers, status)
    if status in (301, 307, 308):
        return "the repository was renamed or moved: set forge.repository to its new name"
    return ""


def _missing_right(headers: Mapping[str, str], status: int) -> str:
    wanted = headers.get(_PERMISSIONS, "").strip()
    scopes = headers.get(_SCOPES, "").strip()
    if wanted:
        ways = [way.strip().replace("=", ": ") for way in wanted.split(";")]
        found = f"the token needs {' or '.join(way.replace(',', ' and ') for way in ways)}"
    elif scopes:
        found = f"the token needs the scope {scopes.replace(', ', ' or ')}"
    else:
        found = "the token lacks a right"
    if status == 404:
        return f"it does not exist, or {found} to see it; `gitbot doctor` lists what it may do"
    return f"{found}; `gitbot doctor` lists what it may do"
