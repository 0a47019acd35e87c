"""Whether the forge accepts the signatures of gitbot's commits: for `doctor`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from gitbot.adapters.forges.rest.api import RestApi
from gitbot.adapters.forges.rest.refusals import RestRefusal
from gitbot.adapters.git import SIGNING_EMAIL, SIGNING_KEY_FILE, read_signing_key
from gitbot.model.plan.diagnosis import Check, failed, passed

NAME = "forge/signatures"
_NO_COMMIT = (404, 409, 422)  # no such branch, an empty repository
_SET = f"set {SIGNING_KEY_FILE} and {SIGNING_EMAIL}: docs/running.md#signed-commits"


def signatures(said: Callable[[], tuple[bool, str]], *, asks: str) -> Iterator[Check]:
    """What the forge says about the signature of the ledger's newest commit.

    `said` is whether it verifies it, and its reason; it raises RestRefusal if there is no such
    commit. `asks` is the branch whose rules ask for signatures, if any.
    """
    key = read_signing_key(os.environ)
    if key is None:
        if asks:
            yield failed(NAME, f"{asks} asks for signed commits, and gitbot signs none", _SET)
        return
    try:
        verified, reason = said()
    except RestRefusal as error:
        if error.status not in _NO_COMMIT:
            raise
        yield passed(NAME, "gitbot signs its commits; the ledger has none yet")
        return
    if verified:
        yield passed(NAME, "the forge verifies the newest commit of the ledger")
        return
    account = key.email or f"gitbot ({SIGNING_EMAIL} names none)"
    fix = f"add this key to the account of {account}, as a signing key: {key.public}"
    yield failed(NAME, f"the forge does not verify the newest commit of the ledger: {reason}", fix)


def verification(api: RestApi, newest: str) -> tuple[bool, str]:
    """The word of GitHub or Gitea; `newest` is the path of the commit."""
    commit = api.get("read the newest commit of the ledger", newest).body.get("commit") or {}
    said = commit.get("verification") or {}
    return bool(said.get("verified")), said.get("reason") or "it says nothing about signatures"
