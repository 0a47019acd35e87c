"""The ledger's anchor in the cluster: its last line, so that a ledger that went back shows.

Between two processes nothing else remembers how far the ledger was. Without the right to the
ConfigMap there is no anchor, and gitbot says so; with an anchor that is ahead, nothing starts.
"""

from __future__ import annotations

from dataclasses import dataclass

from gitbot.errors import ClusterForbidden, ClusterRefused, GitbotError
from gitbot.model.ledger import Ledger
from gitbot.model.words import shortened
from gitbot.published.ledger_lines import encode_event, line_digest
from gitbot.workflows.journal import Journal
from gitbot.workflows.shell import Shell

ACCEPT = "gitbot resume --accept-ledger"
WITHOUT = "the ledger has no anchor in the cluster: deploy/rbac/optional-ledger-anchor.yaml"
NOT_FOUND = 404
UNREADABLE = "the ledger's anchor cannot be read"


def anchor_of(ledger: Ledger) -> str:
    """Number and digest of the last line; "" for an empty ledger."""
    if not ledger.events:
        return ""
    last = ledger.events[-1]
    return f"{last.seq} {line_digest(encode_event(last))}"


def older_than(ledger: Ledger, anchor: str) -> str:
    """Why the ledger is not one that continues the anchored one, or ""."""
    number = anchor.partition(" ")[0]
    if not number.isdecimal():
        return f"the ledger's anchor in the cluster is damaged: {shortened(anchor, 80)!r}"
    there = tuple(event for event in ledger.events if event.seq == int(number))
    if anchor == anchor_of(Ledger(events=there)):
        return ""
    last = ledger.events[-1].seq if ledger.events else 0
    what = f"it ends at line {last}" if last < int(number) else "it has another line there"
    return (
        f"the ledger is not the one that gitbot wrote: the cluster knows its line {number}, and "
        f"{what}. Restore branch gitbot/ledger, or accept it as it is with `{ACCEPT}`: moves "
        "that it has forgotten may run again"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """What the cluster said of the ledger: a line, nothing (""), or why it cannot be read.

    Read it before the ledger: others push first and anchor then, so that it is never ahead.
    """

    head: str | None = ""  # None: without the right to read it
    trouble: str = ""

    def stop(self, ledger: Ledger) -> str:
        """Why nothing may start on this ledger, or ""."""
        return self.trouble or (older_than(ledger, self.head) if self.head else "")


def read_anchor(shell: Shell) -> Anchor:
    try:
        return Anchor(head=shell.cluster.ledger_anchor(shell.ledger_name) or "")
    except ClusterForbidden:
        shell.say(WITHOUT)
        return Anchor(head=None)
    except GitbotError as error:
        return Anchor(trouble=f"{UNREADABLE}: {error}")


def keep_anchor(shell: Shell, journal: Journal, known: str | None) -> str | None:
    """Tell the cluster what the ledger has more than it knows; returns what it knows then.

    None: it cannot be told. Others write too: commands, and runs that ended. A first anchor is
    written with this run's first line.
    """
    head = anchor_of(journal.ledger)
    if known in (None, head) or not (known or journal.written):
        return known
    try:
        shell.cluster.set_ledger_anchor(shell.ledger_name, head)
    except GitbotError as error:
        absent = isinstance(error, ClusterRefused) and error.code == NOT_FOUND  # the namespace
        shell.say(WITHOUT if absent else f"the ledger is not anchored in the cluster: {error}")
        return None
    return head
