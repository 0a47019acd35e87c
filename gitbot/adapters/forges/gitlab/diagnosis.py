"""gitbot's rights on its project, and surprising settings: for `doctor`. It changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gitbot.adapters.forges.gitlab.api import GitLabApi, encoded
from gitbot.adapters.forges.gitlab.rights import DEVELOPER, Rights
from gitbot.adapters.forges.rest.base_check import base_check
from gitbot.adapters.forges.rest.clock_check import clock_check
from gitbot.adapters.forges.rest.refusals import RestRefusal
from gitbot.adapters.forges.rest.signatures import signatures
from gitbot.model.plan.diagnosis import Check, Outcome, asked, failed, passed, warned

LEDGER = "gitbot/ledger"


def diagnose(api: GitLabApi, *, root: str, repository: str, rights: Rights) -> tuple[Check, ...]:
    """All checks, even if some fail. The first tells whether the project is visible at all."""
    reach = asked("forge/reach", lambda: _reach(api, root, repository))
    if any(item.outcome is Outcome.FAIL for item in reach):
        return reach
    questions: tuple[tuple[str, Callable[[], Iterable[Check]]], ...] = (
        ("forge/token", lambda: _token(api, rights)),
        ("forge/checks", lambda: _checks(api)),
        ("forge/reviews", lambda: _reviews(rights)),
        ("forge/base", lambda: _base(rights)),
        ("forge/merges", lambda: _merges(rights)),
        ("forge/signatures", lambda: _signatures(api, root)),
    )
    return (*reach, *(item for name, ask in questions for item in asked(name, ask)))


def _reach(api: GitLabApi, root: str, repository: str) -> Iterable[Check]:
    answer = api.get(f"read {repository}", root)
    if answer.body.get("archived"):
        yield failed("forge/reach", f"{repository} is archived", "unarchive it")
        return
    yield passed("forge/reach", f"{repository} answers")
    if answer.body.get("merge_requests_access_level") == "disabled":
        fix = "switch on Merge requests in the project's settings"
        yield failed("forge/pull-requests", "merge requests are off", fix)
    if answer.body.get("issues_access_level") == "disabled":
        fix = "switch on Issues in the project's settings"
        yield warned("forge/dashboard", "issues are off: there is no dashboard", fix)
    yield from clock_check(api, answer.headers)


def _token(api: GitLabApi, rights: Rights) -> Iterable[Check]:
    account = str(api.get("read who gitbot is", "/user").body["username"])
    if rights.level(account) < DEVELOPER:
        fix = f"give {account} the role Developer in the project"
        yield failed("forge/token", f"acts as {account}, which may not push", fix)
        return
    yield passed("forge/token", f"acts as {account}, which may push")
    scopes = api.get("read the token's scopes", "/personal_access_tokens/self").body["scopes"]
    if "api" not in scopes:
        said = ", ".join(map(str, scopes)) or "none"
        fix = "make a token with the scope api"
        yield failed("forge/scopes", f"the token has the scopes {said}", fix)


def _checks(api: GitLabApi) -> Iterable[Check]:
    version = str(api.get("read GitLab's version", "/version").body.get("version") or "unknown")
    yield passed(
        "forge/checks",
        f"GitLab {version} has no check runs: gitbot writes commit statuses, and the comment has "
        "their details",
    )


def _reviews(rights: Rights) -> Iterable[Check]:
    ruled = rights.by_rules()
    count = rights.reviews_required()
    word = "approval" if count == 1 else "approvals"
    if count and ruled is not None and ruled >= count:
        message = f"{rights.branch} needs {count} {word}; merging them approves plans"
        yield passed("forge/reviews", message)
    elif count:
        fix = "GitLab's paid tiers have rules; without them a merge that lacks one approves no plan"
        message = f"gitbot asks for {count} {word}, GitLab itself for {ruled or 0}"
        yield warned("forge/reviews", message, fix)
    else:
        fix = "set forge.requiredReviews, or mean it: a merge alone approves a plan"
        message = f"{rights.branch} needs no approval: who may merge, approves"
        yield warned("forge/reviews", message, fix)


def _base(rights: Rights) -> Iterable[Check]:
    branch = rights.base()
    fix = f"Settings, Repository: let nobody push to {rights.branch}, also not gitbot's account"
    pushes = bool(branch.get("can_push"))
    protected = bool(branch.get("protected"))
    yield base_check(rights.branch, protected=protected, push_fix=fix if pushes else "")


def _merges(rights: Rights) -> Iterable[Check]:
    if rights.project().get("merge_trains_enabled"):
        said = "the project merges by merge trains: gitbot plans the merged state before it acts"
        yield passed("forge/merges", said)


def _signatures(api: GitLabApi, root: str) -> Iterable[Check]:
    def said() -> tuple[bool, str]:
        path = f"{root}/repository/commits/{encoded(LEDGER)}"
        api.get("read the newest commit of the ledger", path)
        try:
            body = api.get("read its signature", f"{path}/signature").body
        except RestRefusal as error:
            if error.status != 404:
                raise
            return False, "it has no signature"
        word = str(body.get("verification_status") or "unknown")
        return word in ("verified", "verified_system", "verified_ca"), word

    return signatures(said, asks="")
