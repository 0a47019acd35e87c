"""gitbot's rights on its repository, and surprising settings: for `doctor`. It changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gitbot.adapters.forges.gitea.api import GiteaApi
from gitbot.adapters.forges.gitea.rights import Rights
from gitbot.adapters.forges.rest.base_check import base_check
from gitbot.adapters.forges.rest.clock_check import clock_check
from gitbot.adapters.forges.rest.refusals import RestRefusal
from gitbot.adapters.forges.rest.signatures import signatures, verification
from gitbot.model.plan.diagnosis import Check, Outcome, asked, failed, passed, warned

LEDGER = "gitbot%2Fledger"


def diagnose(api: GiteaApi, *, root: str, repository: str, rights: Rights) -> tuple[Check, ...]:
    """All checks, even if some fail. The first tells whether the repository is visible at all."""
    reach = asked("forge/reach", lambda: _reach(api, root, repository))
    if any(item.outcome is Outcome.FAIL for item in reach):
        return reach
    newest = f"{root}/git/commits/{LEDGER}"
    questions: tuple[tuple[str, Callable[[], Iterable[Check]]], ...] = (
        ("forge/token", lambda: _token(api, root, rights)),
        ("forge/checks", lambda: _checks(api)),
        ("forge/reviews", lambda: _reviews(rights)),
        ("forge/base", lambda: _base(rights)),
        # Gitea shows to administrators alone whether a branch asks for signatures
        ("forge/signatures", lambda: signatures(lambda: verification(api, newest), asks="")),
    )
    return (*reach, *(item for name, ask in questions for item in asked(name, ask)))


def _reach(api: GiteaApi, root: str, repository: str) -> Iterable[Check]:
    answer = api.get(f"read {repository}", root)
    if answer.body.get("archived"):
        yield failed("forge/reach", f"{repository} is archived", "unarchive it")
        return
    yield passed("forge/reach", f"{repository} answers")
    if not answer.body.get("has_pull_requests", True):
        fix = "switch on Pull Requests in the repository's settings"
        yield failed("forge/pull-requests", "pull requests are off", fix)
    if not answer.body.get("has_issues", True):
        fix = "switch on Issues in the repository's settings"
        yield warned("forge/dashboard", "issues are off: there is no dashboard", fix)
    yield from clock_check(api, answer.headers)


def _token(api: GiteaApi, root: str, rights: Rights) -> Iterable[Check]:
    account = str(api.get("read who gitbot is", "/user").body["login"])
    granted: Any = api.get("read what gitbot may do", root).body.get("permissions") or {}
    if not granted.get("push"):
        fix = f"give {account} write access to the repository"
        yield failed("forge/token", f"acts as {account}, which may not push", fix)
        return
    yield passed("forge/token", f"acts as {account}, which may push")
    try:
        rights.can_write("gitbot-doctor-nobody")
    except RestRefusal as error:
        yield failed("forge/reviews", str(error), error.hint)


def _checks(api: GiteaApi) -> Iterable[Check]:
    version = str(api.get("read Gitea's version", "/version").body.get("version") or "unknown")
    yield passed(
        "forge/checks",
        f"Gitea {version} has no check runs and no merge queue: gitbot writes commit statuses, "
        "and the comment has their details",
    )


def _reviews(rights: Rights) -> Iterable[Check]:
    count = rights.reviews_required()
    if count:
        word = "approval" if count == 1 else "approvals"
        message = f"{rights.branch} needs {count} {word}; merging them approves plans"
        yield passed("forge/reviews", message)
        return
    fix = "require an approval on the branch, or mean it: a merge alone approves a plan"
    yield warned(
        "forge/reviews", f"{rights.branch} needs no approval: who may merge, approves", fix
    )


def _base(rights: Rights) -> Iterable[Check]:
    branch = rights.base()
    fix = f"Settings, Branches: take the right to push to {rights.branch} from gitbot's account"
    pushes = bool(branch.get("user_can_push"))
    protected = bool(branch.get("protected"))
    yield base_check(rights.branch, protected=protected, push_fix=fix if pushes else "")
