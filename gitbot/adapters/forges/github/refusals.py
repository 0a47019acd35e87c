"""GitHub's refusals in words that say which permission or setting is missing."""

from __future__ import annotations

from collections.abc import Mapping

from gitbot.adapters.forges.rest.refusals import RestRefusal, said_in

# https://docs.github.com/en/rest/overview/permissions-required-for-github-apps: the header names
# the permissions that would do, one list for each way to get through.
_PERMISSIONS = "x-accepted-github-permissions"
_SCOPES = "x-accepted-oauth-scopes"


def refused(what: str, status: int, headers: Mapping[str, str], body: str) -> RestRefusal:
    said = said_in(body)
    hint = _hint(status, headers, said)
    return RestRefusal(
        f"GitHub refused to {what} ({status}): {said or 'no reason given'}",
        status=status,
        said=said,
        hint=hint,
    )


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
