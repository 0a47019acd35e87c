"""The pauses of a pass: until a migration makes progress, until an opening, until somebody asks."""

from __future__ import annotations

from gitbot.errors import RepositoryError
from gitbot.execution.facts import FINAL_PHASES, phase_of
from gitbot.model.instants import format_instant
from gitbot.model.objects import name_of, uid_of
from gitbot.workflows.journal import Journal
from gitbot.workflows.shell import Shell

POLL = 5  # seconds between looks while something is under way
LONGEST_PAUSE = 600  # seconds without any look at the cluster; the snapshot is published anew
LOOK_ANYWAY = 30  # seconds after which the cluster is read whole although no phase changed


def base_head(shell: Shell) -> str:
    """The present commit of the protected base branch."""
    head = shell.repository.resolve(shell.base_branch)
    if head is None:
        raise RepositoryError(f"there is no branch {shell.base_branch}")
    return head


def wait_for_progress(shell: Shell, *, ends_at: int) -> None:
    """Let time pass until a migration begins, copies or ends, or the next whole look is due."""
    clock = shell.clock
    before, since = _stages(shell), clock.now()
    while clock.now() - since < LOOK_ANYWAY and clock.now() < ends_at:
        clock.sleep(min(POLL, ends_at - clock.now()))
        if shell.interrupted() or _stages(shell) != before:
            return


def wait_for_opening_at(opening: int, shell: Shell, journal: Journal, *, ends_at: int) -> None:
    """Let time pass until the opening, or until something is merged, held or cancelled."""
    shell.say(f"waits for the opening at {format_instant(opening)}")
    until = min(opening, ends_at, shell.clock.now() + LONGEST_PAUSE)
    wait_for_change(shell, journal, until=until, look=LOOK_ANYWAY)


def wait_for_change(shell: Shell, journal: Journal, *, until: int, look: int) -> None:
    """Let time pass until then, or until the ledger or the base branch changed."""
    clock = shell.clock
    before = _heads(shell, journal)
    while clock.now() < until and not shell.interrupted():
        clock.sleep(min(look, until - clock.now()))
        if _heads(shell, journal) != before:
            return


def _heads(shell: Shell, journal: Journal) -> tuple[str, str]:
    """Where the ledger and the base branch are now; reading the ledger fetches both."""
    return (journal.read().head, base_head(shell))


def _stages(shell: Shell) -> list[tuple[str, str, str]]:
    """What of the migrations can make a difference to the next step."""
    return [
        (str(name_of(item)), uid_of(item), _stage(phase_of(item)))
        for item in shell.cluster.list_migrations()
    ]


def _stage(phase: str) -> str:
    """Not begun (it may be recalled), being prepared, copying, or the phase in which it ended."""
    if phase in {"", "Pending"}:
        return ""
    return phase if phase in {"Running", *FINAL_PHASES} else "prepared"
