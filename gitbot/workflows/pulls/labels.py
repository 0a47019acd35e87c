"""The bot's own labels on a pull request: its state in a list of pull requests."""

from __future__ import annotations

from gitbot.errors import ForgeError
from gitbot.ports.forge import CheckState, PullRequest
from gitbot.ports.idempotence import is_up_to_date
from gitbot.workflows.approval.stale_reviews import CHANGED
from gitbot.workflows.core.context import RunContext

PLANNED = "gitbot/planned"  # a plan is shown, and a merge approves it
STALE = "gitbot/stale"  # the plan changed since it was approved
BLOCKED = "gitbot/blocked"  # a requested move cannot be done, or was refused
WAITING = "gitbot/waiting-window"  # approved, and waits for its time
HOLD = "gitbot/hold"  # approved, and the stop flag is set
RETURN = "gitbot/return"  # brings VMs home
OWN = frozenset({PLANNED, STALE, BLOCKED, WAITING, HOLD, RETURN})


def set_labels(shell: RunContext, pull: PullRequest, wanted: frozenset[str]) -> bool:
    """Set the bot's labels without changing others; True if anything was written.

    Labels only inform: a failed write is reported, and the run continues. With several clusters, a
    label stays while another cluster's checks still require it.
    """
    meant = _labels_of_other_clusters(shell, pull) if shell.several else frozenset()
    kept = {name for name in pull.labels if name not in OWN or name in meant}
    target = tuple(sorted(kept | wanted))
    if is_up_to_date(tuple(sorted(pull.labels)), target):
        return False
    try:
        shell.forge.set_labels(pull.number, target)
    except ForgeError as error:
        shell.say(f"labels of pull request {pull.number} are not set: {error}")
        return False
    return True


def _labels_of_other_clusters(shell: RunContext, pull: PullRequest) -> frozenset[str]:
    """The labels that the checks of the other clusters on this head may have set."""
    found = {RETURN}
    for status in shell.forge.list_statuses(pull.head):
        family = status.context.partition(" ")[0]
        if not status.context.startswith("gitbot/") or status.context.endswith(
            f" ({shell.cluster_name})"
        ):
            continue
        match family, status.state:
            case _, CheckState.FAILURE:
                found.add(BLOCKED)
            case "gitbot/plan", CheckState.SUCCESS:
                found.add(PLANNED)
                found |= {STALE} if status.description.startswith(CHANGED) else set()
            case "gitbot/apply", CheckState.PENDING:
                found |= {WAITING, HOLD}
            case _:
                pass
    return frozenset(found)
