"""What protects a branch: classic protection and rulesets, seen as one, and whom they refuse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tests.doubles.github.state import JSON, ROLES, Principal, Pull, Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Everything that holds for one branch."""

    reviews: int = 0
    pull_required: bool = False
    dismiss_stale: bool = False
    last_push_approval: bool = False
    contexts: tuple[str, ...] = ()
    origins: Mapping[str, int] = field(default_factory=dict)  # of a context, the App it must be of
    strict: bool = False
    queue: bool = False
    enforce_admins: bool = True


def rules_of(repository: Repository, branch: str, *, by: Principal | None = None) -> Rules:
    """The strictest of protection and all active rulesets that `by` cannot bypass."""
    classic = repository.protection.get(branch)
    reviews = classic.reviews if classic else 0
    pull = bool(classic and classic.reviews_required)
    dismiss = bool(classic and classic.dismiss_stale)
    last_push = bool(classic and classic.last_push_approval)
    contexts = list(classic.contexts) if classic else []
    origins: dict[str, int] = {}
    strict = bool(classic and classic.strict)
    queue = False
    for rule in active_rules(repository, branch, by=by):
        parameters = rule.get("parameters") or {}
        match rule["type"]:
            case "pull_request":
                pull = True
                reviews = max(reviews, int(parameters.get("required_approving_review_count", 0)))
                dismiss = dismiss or bool(parameters.get("dismiss_stale_reviews_on_push"))
                last_push = last_push or bool(parameters.get("require_last_push_approval"))
            case "required_status_checks":
                checks = parameters.get("required_status_checks", ())
                contexts += [check["context"] for check in checks]
                named = [check for check in checks if check.get("integration_id")]
                origins |= {check["context"]: int(check["integration_id"]) for check in named}
                strict = strict or bool(parameters.get("strict_required_status_checks_policy"))
            case "merge_queue":
                queue = True
    return Rules(
        reviews=reviews,
        pull_required=pull,
        dismiss_stale=dismiss,
        last_push_approval=last_push,
        contexts=tuple(dict.fromkeys(contexts)),
        origins=origins,
        strict=strict,
        queue=queue,
        enforce_admins=classic.enforce_admins if classic else True,
    )


def active_rules(repository: Repository, branch: str, *, by: Principal | None = None) -> list[JSON]:
    """The rules of all active rulesets that match a branch and that `by` cannot bypass."""
    found: list[JSON] = []
    for number, ruleset in sorted(repository.rulesets.items()):
        if ruleset.get("enforcement") != "active" or ruleset.get("target", "branch") != "branch":
            continue
        if not _matches(repository, ruleset, branch) or (by and _bypasses(repository, ruleset, by)):
            continue
        found += [
            {
                **rule,
                "ruleset_source_type": "Repository",
                "ruleset_source": repository.full_name,
                "ruleset_id": number,
            }
            for rule in ruleset.get("rules", ())
        ]
    return found


def _matches(repository: Repository, ruleset: JSON, branch: str) -> bool:
    names = (ruleset.get("conditions") or {}).get("ref_name") or {}
    ref = f"refs/heads/{branch}"

    def fits(pattern: str) -> bool:
        if pattern == "~ALL":
            return True
        if pattern == "~DEFAULT_BRANCH":
            return branch == repository.default_branch
        return fnmatchcase(ref, pattern.replace("**/*", "*").replace("**", "*"))

    return any(map(fits, names.get("include", ()))) and not any(map(fits, names.get("exclude", ())))


def _bypasses(repository: Repository, ruleset: JSON, by: Principal) -> bool:
    for actor in ruleset.get("bypass_actors") or ():
        match actor.get("actor_type"):
            case "Integration" if by.app_id and actor.get("actor_id") == by.app_id:
                return True
            case "RepositoryRole" if by.kind == "user":
                role = {5: "admin", 4: "write", 2: "maintain"}.get(actor.get("actor_id"), "admin")
                if _role(repository, by.login) >= ROLES.index(role):
                    return True
    return False


def _role(repository: Repository, login: str) -> int:
    return ROLES.index(
        "admin" if login == repository.owner else repository.collaborators.get(login, "none")
    )


def approvals(repository: Repository, pull: Pull) -> tuple[set[str], set[str]]:
    """Who approves and who asks for changes: the newest word of each with write permission."""
    newest: dict[str, str] = {}
    for _, review in sorted(repository.reviews.items()):
        if review.number == pull.number and review.state in (
            "APPROVED",
            "CHANGES_REQUESTED",
            "DISMISSED",
        ):
            newest[review.author] = review.state
    counted = {
        login: state
        for login, state in newest.items()
        if _role(repository, login) >= ROLES.index("write")
    }
    return (
        {login for login, state in counted.items() if state == "APPROVED"},
        {login for login, state in counted.items() if state == "CHANGES_REQUESTED"},
    )


def refusal_of_merge(
    repository: Repository, pull: Pull, *, by: Principal | None = None
) -> str | None:
    """Why a merge is refused, in GitHub's words; None where it is not."""
    rules = rules_of(repository, pull.base_branch, by=by)
    admin = by is not None and by.kind == "user" and _role(repository, by.login) == len(ROLES) - 1
    if admin and not rules.enforce_admins and not repository.rulesets:
        return None
    if rules.queue:
        return "Changes must be made through the merge queue"
    return refusal_of_rules(repository, pull, rules)


def refusal_of_rules(repository: Repository, pull: Pull, rules: Rules) -> str | None:
    """Reviews and checks."""
    approved, against = approvals(repository, pull)
    if rules.last_push_approval:
        approved = approved - {pull.pusher}
    if rules.reviews and against:
        return "Changes were requested by a reviewer with write access."
    if len(approved) < rules.reviews:
        noun = "review is" if rules.reviews == 1 else "reviews are"
        return f"At least {rules.reviews} approving {noun} required by reviewers with write access."
    for context in rules.contexts:
        state = newest_state(repository, pull.head, context, app=rules.origins.get(context, 0))
        if state is None:
            return f'Required status check "{context}" is expected.'
        if state != "success":
            word = "in progress" if state == "pending" else "failing"
            return f'Required status check "{context}" is {word}.'
    if rules.strict and not repository.git.is_ancestor(pull.base, pull.head):
        return "This branch is out-of-date with the base branch."
    return None


def newest_state(repository: Repository, sha: str, context: str, *, app: int = 0) -> str | None:
    """success, pending or failure of the newest status or check run of that name, if any.

    With `app` only check runs of that App count here.
    """
    found: list[tuple[int, str]] = [
        (status.id, status.state)
        for status in repository.statuses
        if status.sha == sha and status.context == context and not app
    ]
    for run in repository.check_runs.values():
        if run.sha == sha and run.name == context and app in (0, run.app_id):
            good = run.conclusion in ("success", "neutral", "skipped")
            done = "success" if good else "failure"
            found.append((run.id, done if run.status == "completed" else "pending"))
    return max(found)[1] if found else None


def refusal_of_push(
    repository: Repository, branch: str, *, by: Principal, old: str, new: str, zero: str
) -> str | None:
    """Why a push to a branch is refused, None where it is not; fast forwards are another matter."""
    classic = repository.protection.get(branch)
    if classic is not None and not _exempt(repository, branch, by):
        if new == zero:
            return None if classic.deletions else "Cannot delete a protected branch"
        if classic.reviews_required:
            return "Changes must be made through a pull request."
        if classic.contexts:
            return f'Required status check "{classic.contexts[0]}" is expected.'
    wanted = "deletion" if new == zero else ("creation" if old == zero else "update")
    for rule in active_rules(repository, branch, by=by):
        if rule["type"] == wanted:
            word = {"deletion": "delete", "creation": "create", "update": "update"}[wanted]
            return f"Cannot {word} this ref due to repository rules"
        if rule["type"] == "pull_request" and new != zero:
            return "Changes must be made through a pull request."
    return None


def fast_forward_only(repository: Repository, branch: str, *, by: Principal) -> bool:
    """Whether a branch refuses to be pushed with force."""
    classic = repository.protection.get(branch)
    if classic is not None and not classic.force_pushes and not _exempt(repository, branch, by):
        return True
    return any(
        rule["type"] == "non_fast_forward" for rule in active_rules(repository, branch, by=by)
    )


def _exempt(repository: Repository, branch: str, by: Principal) -> bool:
    """An admin where protection does not hold for administrators."""
    classic = repository.protection[branch]
    admin = by.kind == "user" and _role(repository, by.login) == len(ROLES) - 1
    return admin and not classic.enforce_admins
