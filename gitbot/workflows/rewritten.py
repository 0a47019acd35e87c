"""The history of the base branch, held to what the ledger remembers of it."""

from __future__ import annotations

from gitbot.errors import RepositoryError
from gitbot.model.ledger import HOLD_FILE, Entry, Ledger
from gitbot.workflows.shell import Shell


def check_history(shell: Shell, ledger: Ledger, base: str) -> None:
    """RepositoryError where the base branch lost a commit on which something was shown or done.

    Nothing is shown, proposed or applied on a rewritten base: what was approved there is unknown.
    A person who meant it says so with `gitbot hold` and `gitbot resume`.
    """
    for commit in seen_commits(ledger, shell.cluster_name):
        if not is_part_of(shell, commit, base):
            raise RepositoryError(
                f"{shell.base_branch} no longer holds commit {commit[:12]}, which gitbot has "
                "worked with: somebody rewrote it",
                hint="restore the branch, or accept it with `gitbot hold` and `gitbot resume`",
            )


def seen_commits(ledger: Ledger, cluster: str) -> tuple[str, ...]:
    """The newest base that a plan was shown on, and the newest merge that was carried out.

    Only what came after the last time that a person of the cluster resumed.
    """
    shown, merged = "", ""
    for entry in reversed(ledger.entries):
        if entry.file == HOLD_FILE and entry.state == "resumed" and entry.cluster in ("", cluster):
            break
        shown = shown or str(entry.data.get("base", ""))
        merged = merged or _merge_of(entry)
        if shown and merged:
            break
    return tuple(dict.fromkeys(commit for commit in (shown, merged) if commit))


def _merge_of(entry: Entry) -> str:
    return entry.commit if entry.move or entry.state == "auto" else ""


def is_part_of(shell: Shell, commit: str, base: str) -> bool:
    """Whether a commit is reachable from the base; one that is not there at all is not."""
    repository = shell.repository
    return repository.resolve(commit) is not None and repository.is_ancestor(commit, base)
