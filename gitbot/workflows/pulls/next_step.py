"""The command that an open pull request needs before its merge approves anything."""

from __future__ import annotations

from gitbot.errors import InvalidInput, LimitExceeded, RepositoryError, UsageError
from gitbot.intents import (
    FreezeWindowSpec,
    Intent,
    MaintenanceWindowSpec,
    MigrationRequestSpec,
    stops,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.ports.forge import Forge, PullRequest
from gitbot.workflows.core.base_branch import read_head
from gitbot.workflows.core.context import RunContext, base_head
from gitbot.workflows.core.revision import INTENTS


def check_first(shell: RunContext, ledger: Ledger, pull: PullRequest, *, now: int) -> str:
    """What to do before a merge, such as a command that plans and shows it; "" for nothing.

    A forge whose CI plans by itself needs nobody to type it. Neither does a pull request whose
    merge can approve no move: a freeze, a rule.
    """
    if shell.forge.capabilities.plans_by_itself:
        return ""
    shown = ledger.shown(pull.number, cluster=shell.cluster_name)
    last = shown[-1] if shown and shown[-1].head == pull.head else None
    check = f"gitbot check --pull-request {pull.number}"
    where = f" --cluster {shell.cluster_name}" if shell.several else ""
    if last is None or (last.digest and last.expires_at <= now):
        return f"{check} --publish{where}" if _may_move(shell, pull) else ""
    if last.digest:
        return ""
    # typed again, the check only says the same
    return f"mend the errors that `{check}{where}` shows, and push"


def after_merge(shell: RunContext, ledger: Ledger, pull: PullRequest) -> str:
    """The command that goes on after a merge: `gitbot apply` where the merge approved everything.

    A rule, and a window that opens again and again, need a proposal first. A freeze needs nothing,
    "".
    """
    shown = ledger.shown(pull.number, cluster=shell.cluster_name)
    approved = bool(shown) and shown[-1].head == pull.head and bool(shown[-1].digest)
    changed = _changed(shell, pull)
    if changed and all(isinstance(item.spec, FreezeWindowSpec) for item in changed):
        return ""
    once = approved and changed is not None and all(map(_happens_once, changed))
    return "gitbot apply" if once else "gitbot reconcile"


def came_after_plan(shell: RunContext, ledger: Ledger, pull: PullRequest) -> tuple[str, ...]:
    """Rules and freezes of the base branch that the plan on a pull request does not know."""
    shown = ledger.shown(pull.number, cluster=shell.cluster_name)
    if not shown or shown[-1].head != pull.head or not shown[-1].digest:
        return ()
    try:
        known = shell.read_base(shown[-1].shown.base).intents.digests
        newer = shell.read_base(base_head(shell)).intents
    except (InvalidInput, RepositoryError, UsageError):  # `check` and `apply` say what is wrong
        return ()
    return tuple(
        f"{item.ref.kind} {item.ref.name}"
        for item in newer.intents
        if item.ref.kind not in _MOVING and known.get(item.ref.id) != item.spec_digest
    )


def _happens_once(intent: Intent) -> bool:
    spec = intent.spec
    if isinstance(spec, MaintenanceWindowSpec):
        return spec.schedule is None or spec.opens_once
    return isinstance(spec, MigrationRequestSpec | FreezeWindowSpec)


_MOVING = ("MigrationRequest", "MaintenanceWindow")


def _may_move(shell: RunContext, pull: PullRequest) -> bool:
    """Whether a merge can approve a move, or break something: all but valid freezes and rules."""
    changed = _changed(shell, pull)
    return changed is None or any(item.ref.kind in _MOVING for item in changed)


def _changed(shell: RunContext, pull: PullRequest) -> tuple[Intent, ...] | None:
    """The intents of the files that differ; None if there is more, an error, or nobody knows."""
    repository, folder = shell.repository, f"{INTENTS}{shell.cluster_name}/"
    try:
        repository.fetch_commit(pull.head)
        since = repository.merge_base(shell.base_branch, pull.head) or ""
        before, after = (dict(repository.read_tree(rev)) for rev in (since, pull.head))
        every = before.keys() | after.keys()
        paths = {path for path in every if before.get(path) != after.get(path)}
        if not all(path.startswith(folder) for path in paths):
            return None
        found = read_head(shell, pull.head, shell.read_base(base_head(shell)).revision)
    except (InvalidInput, LimitExceeded, RepositoryError, UsageError):
        return None
    if any(map(stops, found.findings)):
        return None
    return tuple(item for item in found.intents.intents if item.ref.file in paths)


def merge_words(forge: Forge, pull: PullRequest) -> str:
    """How a person merges a pull request there."""
    if forge.capabilities.merges_by_command:
        return f"gitbot merge {pull.number}"
    return f"review and merge {pull.url or f'pull request {pull.number}'}"


def next_step(shell: RunContext, pull: PullRequest) -> str:
    """The pull request and what comes next, in a line for who has just opened it."""
    check = check_first(shell, shell.ledger_store.read(), pull, now=shell.clock.now())
    steps = [*filter(None, [check]), merge_words(shell.forge, pull)]
    return f"pull request #{pull.number}: {pull.title}; next: {', then '.join(steps)}"
