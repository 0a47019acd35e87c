"""What protects a branch, by classic protection and rulesets together, and whom they refuse."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tests.doubles.github.core import Core
from tests.doubles.github.state import JSON, Principal, Pull, Repository
from tests.doubles.github.storage import BASE, NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a merge into a branch needs. `checks` maps each name to its App, 0 for any."""

    reviews: int
    dismiss_stale: bool
    last_push_approval: bool
    checks: Mapping[str, int]
    queue: bool


def rules_of(repository: Repository, branch: str) -> Rules:
    """The strictest of classic protection and all active rulesets."""
    classic = repository.protection.get(branch)
    found: dict[str, list[JSON]] = {}
    for rule in active_rules(repository, branch):
        found.setdefault(rule["type"], []).append(rule.get("parameters") or {})
    pulls = found.get("pull_request", [])
    reviews = [int(row.get("required_approving_review_count", 0)) for row in pulls]
    stale = any(row.get("dismiss_stale_reviews_on_push") for row in pulls)
    return Rules(
        reviews=max([*reviews, classic.reviews if classic else 0]),
        dismiss_stale=stale or bool(classic and classic.dismiss_stale),
        last_push_approval=any(row.get("require_last_push_approval") for row in pulls),
        checks={
            check["context"]: int(check.get("integration_id") or 0)
            for row in found.get("required_status_checks", [])
            for check in row["required_status_checks"]
        },
        queue="merge_queue" in found,
    )


def active_rules(repository: Repository, branch: str, *, by: Principal | None = None) -> list[JSON]:
    """The rules of all active rulesets that match a branch and that `by` cannot bypass."""
    return [
        {**rule, "ruleset_source_type": "Repository", "ruleset_id": number}
        for number, ruleset in sorted(repository.rulesets.items())
        if ruleset.get("enforcement") == "active"
        and _matches(repository, ruleset, branch)
        and not (by is not None and _bypasses(ruleset, by))
        for rule in ruleset["rules"]
    ]


def _matches(repository: Repository, ruleset: JSON, branch: str) -> bool:
    def fits(pattern: str) -> bool:
        if pattern == "~DEFAULT_BRANCH":
            return f"refs/heads/{branch}" == BASE
        return fnmatchcase(f"refs/heads/{branch}", pattern.replace("**/*", "*"))

    names = ruleset["conditions"]["ref_name"]
    return any(map(fits, names["include"])) and not any(map(fits, names["exclude"]))


def _bypasses(ruleset: JSON, by: Principal) -> bool:
    return any(
        actor["actor_type"] == "Integration" and actor["actor_id"] == by.app_id
        for actor in ruleset.get("bypass_actors") or ()
    )


def refusal_of_merge(github: Core, repository: Repository, pull: Pull) -> str | None:
    """Why a merge is refused, in GitHub's words; None if it is not."""
    if rules_of(repository, pull.base).queue:
        return "Changes must be made through the merge queue"
    return refusal_of_rules(github, repository, pull)


def refusal_of_rules(github: Core, repository: Repository, pull: Pull) -> str | None:
    """The same, for reviews and checks."""
    rules = rules_of(repository, pull.base)
    said = _newest_reviews(github, repository, pull)
    if rules.reviews and "CHANGES_REQUESTED" in said.values():
        return "Changes were requested by a reviewer with write access."
    approved = {login for login, state in said.items() if state == "APPROVED"}
    if rules.last_push_approval:
        approved -= {pull.pusher}
    if len(approved) < rules.reviews:
        noun = "review is" if rules.reviews == 1 else "reviews are"
        return f"At least {rules.reviews} approving {noun} required by reviewers with write access."
    words = {"": "expected", "pending": "in progress", "failure": "failing"}
    for context, state in states_of_checks(repository, pull.base, pull.head).items():
        if state != "success":
            return f'Required status check "{context}" is {words[state]}.'
    return None


def _newest_reviews(github: Core, repository: Repository, pull: Pull) -> dict[str, str]:
    """The newest review of each account that may write. Comments do not count."""
    return {
        review.user: review.state
        for _, review in sorted(repository.reviews.items())
        if review.number == pull.number
        and review.state != "COMMENTED"
        and github.at_least(repository, review.user, "write")
    }


def states_of_checks(repository: Repository, branch: str, sha: str) -> dict[str, str]:
    """By required check: success, pending or failure, "" if it does not exist yet.

    If the rules name an App, only that App's check runs count.
    """
    return {
        context: _newest_state(repository, sha, context, app)
        for context, app in rules_of(repository, branch).checks.items()
    }


def _newest_state(repository: Repository, sha: str, context: str, app: int) -> str:
    found = [
        (status.id, "failure" if status.state == "error" else status.state)
        for status in repository.statuses
        if (status.sha, status.context, app) == (sha, context, 0)
    ]
    for run in repository.check_runs.values():
        if run.head_sha == sha and run.name == context and app in (0, run.app_id):
            good = run.conclusion in ("success", "neutral", "skipped")
            done = "success" if good else "failure"
            found.append((run.id, done if run.status == "completed" else "pending"))
    return max(found)[1] if found else ""


_VERBS = {"deletion": "delete", "creation": "create", "update": "update"}


def refusal_of_push(
    repository: Repository, branch: str, *, by: Principal, old: str, new: str
) -> str | None:
    """Why a push to a branch is refused, None if it is not; fast forwards are another matter."""
    classic = repository.protection.get(branch)
    if classic is not None and new == NOBODY:
        return "Cannot delete a protected branch"
    if classic is not None and classic.reviews:
        return "Changes must be made through a pull request."
    kinds = {rule["type"] for rule in active_rules(repository, branch, by=by)}
    wanted = "deletion" if new == NOBODY else ("creation" if old == NOBODY else "update")
    if wanted in kinds:
        return f"Cannot {_VERBS[wanted]} this ref due to repository rules"
    if "pull_request" in kinds and new != NOBODY:
        return "Changes must be made through a pull request."
    return None


def fast_forward_only(repository: Repository, branch: str, *, by: Principal) -> bool:
    """Whether a branch refuses to be pushed with force."""
    kinds = {rule["type"] for rule in active_rules(repository, branch, by=by)}
    return branch in repository.protection or "non_fast_forward" in kinds
