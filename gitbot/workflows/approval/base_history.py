"""Whether the base branch still contains the commits that the ledger remembers of it."""

from __future__ import annotations

from gitbot.errors import RepositoryError
from gitbot.model.ledger.events import (
    ConcernChanged,
    ConcernState,
    MoveApproved,
    PlanShown,
    StopLifted,
)
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.core.context import RunContext


def check_history(shell: RunContext, ledger: Ledger, base: str) -> None:
    """Raises RepositoryError if the base branch lost a commit that was shown or carried out.

    gitbot does not show, propose or apply anything on a rewritten base: nothing shows what was
    approved there. A person who rewrote it on purpose confirms that with `gitbot hold` and `gitbot
    resume`.
    """
    if (error := history_error(shell, ledger, base)) is not None:
        raise error


def history_error(shell: RunContext, ledger: Ledger, base: str) -> RepositoryError | None:
    """The error if the base branch lost such a commit; None if it has them all."""
    commit = lost_commit(shell, ledger, base)
    if not commit:
        return None
    return RepositoryError(
        f"{shell.base_branch} no longer holds commit {commit[:12]}, which gitbot has "
        "worked with: somebody rewrote it",
        hint="restore the branch, or accept it with `gitbot hold` and `gitbot resume`",
    )


def lost_commit(shell: RunContext, ledger: Ledger, base: str) -> str:
    """A commit that the base branch lost without a person's confirmation; "" if there is none."""
    seen = seen_commits(ledger, shell.cluster_name)
    return next((commit for commit in seen if not is_part_of(shell, commit, base)), "")


def seen_commits(ledger: Ledger, cluster: str) -> tuple[str, ...]:
    """The newest base that a plan was shown on, and the newest merge that was accepted.

    Only events since a person last resumed the cluster: `gitbot resume` accepts a rewritten branch.
    """
    shown, merged = "", ""
    for event in reversed(ledger.events):
        match event:
            case StopLifted() if event.cluster in ("", cluster):
                break
            case PlanShown():
                shown = shown or event.shown.base
            # events that start something
            case MoveApproved() | ConcernChanged(state=ConcernState.AUTO):
                merged = merged or event.commit
    return tuple(dict.fromkeys(commit for commit in (shown, merged) if commit))


def is_part_of(shell: RunContext, commit: str, base: str) -> bool:
    """Whether a commit is reachable from the base; False for an unknown commit and for ""."""
    repository = shell.repository
    known = commit and repository.resolve(commit) is not None
    return bool(known) and repository.is_ancestor(commit, base)
