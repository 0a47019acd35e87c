"""The bot's own labels on a pull request: what a list of pull requests should show at a glance."""

from __future__ import annotations

from gitbot.errors import ForgeError
from gitbot.ports.forge import PullRequest
from gitbot.workflows.shell import Shell

PLANNED = "gitbot/planned"  # there is a plan that a merge approves
STALE = "gitbot/stale"  # the plan changed since it was approved
BLOCKED = "gitbot/blocked"  # something asked for cannot be done, or was refused
WAITING = "gitbot/waiting-window"  # approved, and waits for its time
HOLD = "gitbot/hold"  # approved, and the stop flag is set
RETURN = "gitbot/return"  # brings VMs home
OWN = frozenset({PLANNED, STALE, BLOCKED, WAITING, HOLD, RETURN})


def set_labels(shell: Shell, pull: PullRequest, wanted: frozenset[str]) -> bool:
    """Set the bot's labels beside those of people; whether anything was written.

    Labels are for the eye only: where they cannot be written, it is said and the run goes on.
    With several clusters each run would take the others' labels away, so those stay.
    """
    kept = {name for name in pull.labels if name not in OWN or shell.several}
    target = tuple(sorted(kept | wanted))
    if target == tuple(sorted(pull.labels)):
        return False
    try:
        shell.forge.set_labels(pull.number, target)
    except ForgeError as error:
        shell.say(f"labels of pull request {pull.number} are not set: {error}")
        return False
    return True
