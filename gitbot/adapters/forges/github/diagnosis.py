"""gitbot's permissions on its repository, and surprising settings: for `doctor`.

This changes nothing. To test a write permission, it sends a request that GitHub must reject: as
invalid (422) with the permission, as forbidden without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from gitbot.adapters.forges.github.api import GitHubApi
from gitbot.adapters.forges.github.credentials import CredentialKind
from gitbot.adapters.forges.github.protection import Protection
from gitbot.adapters.forges.rest.base_check import base_check
from gitbot.adapters.forges.rest.clock_check import clock_check
from gitbot.adapters.forges.rest.refusals import RestRefusal
from gitbot.adapters.forges.rest.signatures import signatures, verification
from gitbot.model.plan.diagnosis import Check, Outcome, asked, failed, passed, warned

ENVIRONMENT = "gitbot"  # the shipped workflows name this one and gitbot-<cluster>
LEDGER = "gitbot/ledger"
NEEDED = {
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "write",
}
_HARMLESS = {**NEEDED, "administration": "read", "actions": "read", "members": "read"}
_NOWHERE = "0" * 40
_WRITES = {  # what a rehearsal tests, its path, and what is missing if GitHub forbids it
    "forge/pull-requests": ("open pull requests", "/pulls", "give it Pull requests: write"),
    "forge/checks": (
        "write check runs",
        "/check-runs",
        "give it Checks: write (in a workflow `permissions: checks: write`)",
    ),
    "forge/statuses": (
        "write commit statuses",
        f"/statuses/{_NOWHERE}",
        "give it Commit statuses: write",
    ),
    "forge/issues": (
        "write comments, labels and the dashboard",
        "/issues",
        "give it Issues: write",
    ),
}
_WAITS = {"required_reviewers": "reviewers", "wait_timer": "a wait timer"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisTarget:
    """The repository under examination."""

    api: GitHubApi
    root: str
    repository: str
    protection: Protection


def diagnose(patient: DiagnosisTarget) -> tuple[Check, ...]:
    """All checks, even if some fail. The first tells whether the repository is visible at all."""
    reach = asked("forge/reach", lambda: _reach(patient))
    if any(item.outcome is Outcome.FAIL for item in reach):
        return reach
    questions: tuple[tuple[str, Callable[[], Iterable[Check]]], ...] = (
        ("forge/token", lambda: _token(patient)),
        ("forge/pull-requests", lambda: _pull_requests(patient)),
        ("forge/checks", lambda: _checks(patient)),
        ("forge/statuses", lambda: _rehearsed(patient, "forge/statuses", {"state": "nowhere"})),
        ("forge/issues", lambda: _rehearsed(patient, "forge/issues", {})),
        ("forge/reviews", lambda: _reviews(patient)),
        ("forge/branches", lambda: _branches(patient)),
        ("forge/signatures", lambda: _signatures(patient)),
        ("forge/environment", lambda: _environment(patient)),
    )
    found = [item for name, ask in questions for item in asked(name, ask)]
    return (*reach, *found, _budget(patient))


def _reach(patient: DiagnosisTarget) -> Iterable[Check]:
    answer = patient.api.get(f"read {patient.repository}", patient.root)
    body = answer.body
    if body.get("archived"):
        yield failed("forge/reach", f"{patient.repository} is archived", "unarchive it")
        return
    yield passed("forge/reach", f"{patient.repository} answers")
    if not body.get("has_issues", True):
        fix = "switch on Issues in the repository's settings"
        yield warned("forge/dashboard", "issues are off: there is no dashboard", fix)
    yield from clock_check(patient.api, answer.headers)


def _token(patient: DiagnosisTarget) -> Iterable[Check]:
    kind = patient.api.credentials.kind
    match kind:
        case CredentialKind.APP:
            yield from _app(patient)
        case CredentialKind.ACTIONS:
            message = "acts as the job's own token: what it changes starts no other workflow"
            yield warned("forge/token", message, "install a GitHub App for gitbot")
        case CredentialKind.CLASSIC:
            answer = patient.api.get("read the token's scopes", patient.root)
            scopes = answer.headers.get("x-oauth-scopes", "") or "none named"
            fix = "install a GitHub App: its rights end at this repository"
            yield warned("forge/token", f"acts with a {kind} (scopes: {scopes})", fix)
        case CredentialKind.FINE_GRAINED:
            fix = "install a GitHub App: it belongs to nobody and writes check runs"
            yield warned("forge/token", f"acts with a {kind} of a person", fix)


def _app(patient: DiagnosisTarget) -> Iterable[Check]:
    credentials = replace(patient.api.credentials, installation=0)
    app = GitHubApi.connect(credentials, patient.api.clock)
    body = app.get("read the App's installation", f"{patient.root}/installation").body
    granted = {str(key): str(value) for key, value in (body.get("permissions") or {}).items()}
    missing = [f"{name}: {right}" for name, right in NEEDED.items() if not _covers(granted, name)]
    excess = [
        f"{name}: {right}"
        for name, right in sorted(granted.items())
        if right != "read" and right != _HARMLESS.get(name)
    ]
    if missing:
        fix = "add it on the App's page, then let an owner accept it for the installation"
        yield failed("forge/token", f"the App lacks {', '.join(missing)}", fix)
    elif excess:
        fix = "remove it on the App's page"
        yield warned("forge/token", f"the App has more than it needs: {', '.join(excess)}", fix)
    else:
        yield passed("forge/token", "acts as a GitHub App with the rights it needs and no more")


def _covers(granted: Mapping[str, str], name: str) -> bool:
    ranks = {"read": 1, "write": 2, "admin": 3}
    return ranks.get(granted.get(name, ""), 0) >= ranks[NEEDED[name]]


def _pull_requests(patient: DiagnosisTarget) -> Iterable[Check]:
    body = {"title": "", "head": "gitbot/doctor/nowhere", "base": patient.protection.branch}
    yield from _rehearsed(patient, "forge/pull-requests", body)
    if patient.api.credentials.kind is CredentialKind.ACTIONS:
        yield from _actions(patient)


def _actions(patient: DiagnosisTarget) -> Iterable[Check]:
    """The setting that lets a job's token open pull requests. Only administrators can read it."""
    try:
        path = f"{patient.root}/actions/permissions/workflow"
        body = patient.api.get("read what Actions may do", path).body
    except RestRefusal:
        yield warned(
            "forge/actions",
            "whether Actions may create pull requests cannot be read with this token",
            "look at Settings, Actions, General: Allow GitHub Actions to create and approve pull "
            "requests",
        )
        return
    if not body.get("can_approve_pull_request_reviews"):
        yield failed(
            "forge/actions",
            "Actions may not create pull requests",
            "Settings, Actions, General: Allow GitHub Actions to create and approve pull requests",
        )


def _checks(patient: DiagnosisTarget) -> Iterable[Check]:
    if not patient.api.credentials.writes_checks:
        yield warned(
            "forge/checks",
            "a personal token cannot write check runs: gitbot writes commit statuses instead",
            "install a GitHub App for gitbot",
        )
        return
    yield from _rehearsed(patient, "forge/checks", {"name": "gitbot/doctor"})


def _rehearsed(patient: DiagnosisTarget, name: str, body: dict[str, Any]) -> Iterable[Check]:
    """Send an invalid request: GitHub checks the permission before the request."""
    what, path, fix = _WRITES[name]
    try:
        patient.api.write(
            f"{what} (a rehearsal)",
            "POST",
            f"{patient.root}{path}",
            body,
            resolve=lambda: None,
        )
    except RestRefusal as error:
        if error.status in (400, 422):
            yield passed(name, f"gitbot may {what} (nothing was written)")
        elif error.status == 410:
            yield warned(name, f"GitHub says: {error.said}", "switch it on in the settings")
        else:
            yield failed(name, f"gitbot may not {what}: {error.said or error.status}", fix)
        return
    yield warned(name, f"GitHub took an invalid request to {what}", "look at what it made of it")


def _reviews(patient: DiagnosisTarget) -> Iterable[Check]:
    count = patient.protection.reviews_required()
    branch = patient.protection.branch
    if count:
        word = "approval" if count == 1 else "approvals"
        yield passed("forge/reviews", f"{branch} needs {count} {word}; merging them approves plans")
        return
    fix = "require a review on the branch, or mean it: a merge alone approves a plan"
    yield warned("forge/reviews", f"{branch} needs no approval: who may merge, approves", fix)


def _branches(patient: DiagnosisTarget) -> Iterable[Check]:
    base = patient.protection.branch
    name = f"{patient.root}/branches/{quote(base, safe='')}"
    branch = patient.api.get(f"read the branch {base}", name).body
    yield base_check(base, protected=bool(branch.get("protected")))
    yield from _origins(base, _rules(patient, base))
    rules = {str(rule.get("type")) for rule in _rules(patient, LEDGER)}
    if rules & {"update", "creation"}:
        yield passed("forge/branches", "a ruleset says who pushes to gitbot/**")
    else:
        fix = "add the ruleset of the documentation: only the App pushes to gitbot/**"
        yield warned("forge/branches", "who may write may also push to gitbot/ledger", fix)


def _signatures(patient: DiagnosisTarget) -> Iterable[Check]:
    base = patient.protection.branch
    asks = (name for name in (base, LEDGER) if _asks_for_signatures(patient, name))
    newest = f"{patient.root}/commits/{quote(LEDGER, safe='')}"
    yield from signatures(lambda: verification(patient.api, newest), asks=next(asks, ""))


def _asks_for_signatures(patient: DiagnosisTarget, branch: str) -> bool:
    """By rulesets. Classic protection shows this to administrators alone."""
    return any(rule.get("type") == "required_signatures" for rule in _rules(patient, branch))


def _rules(patient: DiagnosisTarget, branch: str) -> list[Any]:
    path = f"{patient.root}/rules/branches/{quote(branch, safe='')}"
    return list(patient.api.pages("read the rules", path))


def _origins(base: str, rules: list[Any]) -> Iterable[Check]:
    """Required checks without an expected source: a status of any account counts."""
    found = {
        str(check.get("context"))
        for rule in rules
        if rule.get("type") == "required_status_checks"
        for check in (rule.get("parameters") or {}).get("required_status_checks") or ()
        if str(check.get("context")).startswith("gitbot/") and not check.get("integration_id")
    }
    if found:
        yield warned(
            "forge/required-checks",
            f"{base} asks for {', '.join(sorted(found))}, from any account",
            "name gitbot's App there as their source (integration_id in deploy/github)",
        )


def _environment(patient: DiagnosisTarget) -> Iterable[Check]:
    """An environment that waits for a person would stop a run at night."""
    try:
        values = list(
            patient.api.pages(
                "read the environments", f"{patient.root}/environments", key="environments"
            )
        )
    except RestRefusal as error:
        yield warned(
            "forge/environment",
            f"the environments cannot be read ({error.status}): whether one parks a run at night "
            "is not known",
            "give it Actions: read, or look at Settings, Environments",
        )
        return
    ours = sorted(filter(_is_ours, values), key=lambda value: str(value.get("name")))
    parked = {str(value.get("name")): _waits(value) for value in ours}
    for name, waits in sorted(parked.items()):
        if waits:
            yield failed(
                "forge/environment",
                f"environment {name} has {waits}: a run at night would wait for a person",
                f"remove {waits} from environment {name}: the merge is the approval",
            )
    if not any(parked.values()):
        yield passed("forge/environment", "no environment would park a run at night")
    yield from _secrets(patient, ours)


def _secrets(patient: DiagnosisTarget, environments: list[Any]) -> Iterable[Check]:
    """Secrets that every branch's workflow can read are open to everyone who can push a branch."""
    rule = "deployment_branch_policy"  # null: every branch
    found = [str(value["name"]) for value in environments if not value.get(rule)]
    if found:
        yield warned(
            "forge/secrets",
            f"a workflow of any branch may use {', '.join(found)}: who may push a branch reads "
            "the secrets there",
            f"Settings, Environments, Deployment branches: only {patient.protection.branch}",
        )


def _is_ours(value: Any) -> bool:
    name = str(value.get("name"))
    return name == ENVIRONMENT or name.startswith(f"{ENVIRONMENT}-")


def _waits(value: Any) -> str:
    kinds = {str(rule.get("type")) for rule in value.get("protection_rules") or ()}
    return " and ".join(sorted(_WAITS[kind] for kind in kinds & set(_WAITS)))


def _budget(patient: DiagnosisTarget) -> Check:
    budget = patient.api.budget
    if not budget.limit:
        return passed("forge/limits", "no rate limit is announced")
    words = f"{budget.remaining} of {budget.limit} requests of this hour are left"
    if budget.remaining * 4 < budget.limit:
        return warned("forge/limits", words, "see what else uses this account")
    return passed("forge/limits", words)
