"""The pauses of a pass: until a migration makes progress, an opening, or a person's request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitbot.kubernetes.objects import KubernetesObject, uid_of
from gitbot.kubernetes.phases import FINAL_PHASES, phase_of
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.text.instants import format_instant
from gitbot.workflows.core.context import RunContext, base_head
from gitbot.workflows.ledger.writer import Journal

POLL = 5  # seconds between reads while a migration is running
HEAR = 1  # the same if a watch tells it
NOTICE = 5  # seconds between reads of the branches, where a pass lists nothing
LONGEST_PAUSE = 600  # seconds without any read of the cluster; then the snapshot is published again
UNCALLED = 5  # seconds of rest that no call shortens
LOOK_ANYWAY = 30  # seconds until the whole cluster is read again although no phase changed

Stages = Mapping[str, str]  # UID of a migration -> its stage
Heads = tuple[int, str]  # the newest line about this cluster, the commit of the base branch


def wait_for_progress(shell: RunContext, seen: Stages, *, ends_at: int) -> None:
    """Wait until a migration begins, copies or ends, or the next whole read is due.

    `seen` are the stages in the snapshot of the last step, so later changes count as progress. A
    new migration counts once it is past pending.
    """
    clock = shell.clock
    since = clock.now()
    # the clock may step back
    while 0 <= clock.now() - since < LOOK_ANYWAY and clock.now() < ends_at:
        pause = POLL if _heard(shell) is None else HEAR
        clock.sleep(min(pause, ends_at - clock.now()))
        if shell.interrupted():
            return
        heard = _heard(shell)
        now = stages(shell.cluster.list_migrations() if heard is None else heard)
        if not seen.keys() <= now.keys():
            return
        if any(stage != seen.get(uid, "") for uid, stage in now.items()):
            return


def _heard(shell: RunContext) -> tuple[KubernetesObject, ...] | None:
    """The migrations that a watch has told of; None if there is none."""
    return None if shell.followed is None else shell.followed.migrations_seen()


def wait_for_opening_at(
    opening: int, shell: RunContext, journal: Journal, heads: Heads, *, ends_at: int
) -> None:
    """Wait until the opening, or until a merge, hold or cancel."""
    shell.say(f"waits for the opening at {format_instant(opening)}")
    until = min(opening, ends_at, shell.clock.now() + LONGEST_PAUSE)
    wait_for_change(shell, journal, heads, until=until, look=LOOK_ANYWAY)


def wait_for_change(
    shell: RunContext, journal: Journal, seen: Heads, *, until: int, look: int
) -> None:
    """Wait until `until`, until ledger or base branch differ from `seen`, or until a call."""
    clock, rested = shell.clock, 0
    while clock.now() < until and not shell.interrupted():
        pause = min(look, until - clock.now())
        if _is_called(shell, pause, rested=rested):
            return
        rested += pause
        if clock.now() >= until:  # the next pass reads both anyway
            return
        if heads(journal.read(), shell.cluster_name, base_head(shell)) != seen:
            return


def _is_called(shell: RunContext, seconds: int, *, rested: int) -> bool:
    """Rest so many seconds, or until the forge calls; whether it did. `rested`: seconds before."""
    if shell.called is None:
        shell.clock.sleep(seconds)
        return False
    for second in range(seconds):
        shell.clock.sleep(1)
        # calls come in bursts, also about what the last pass wrote: they do not drive the passes
        if rested + second + 1 >= UNCALLED and shell.called():
            return True
        if shell.interrupted():
            break
    return False


def heads(ledger: Ledger, cluster: str, base: str) -> Heads:
    """What ends a pause. Lines of other clusters on the same branch do not."""
    about = (event.seq for event in reversed(ledger.events) if event.cluster in ("", cluster))
    return next(about, 0), base


def stages(migrations: Iterable[KubernetesObject]) -> dict[str, str]:
    """The stages of migrations that can change the next step, by UID."""
    return {uid_of(item): _stage(phase_of(item)) for item in migrations}


def _stage(phase: str) -> str:
    """Not begun (can be recalled), being prepared, copying, or the phase in which it ended."""
    if phase in {"", "Pending"}:
        return ""
    return phase if phase in {"Running", *FINAL_PHASES} else "prepared"
