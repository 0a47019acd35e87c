"""Anchors of the ledger: its last line, kept in the cluster and on the forge to detect a rollback.

Between two processes, nothing else remembers the length of the ledger. gitbot writes the cluster's
anchor before each effect; without the right to its ConfigMap there is none, and gitbot says so. The
forge's is a check on the base branch, written with each report. If an anchor is ahead, nothing
starts.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from gitbot.errors import ClusterForbidden, ClusterRefused, ForgeError, GitbotError
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.text.wording import shortened
from gitbot.ports.forge import CheckRun, CheckState
from gitbot.published.ledger_lines import encode_event, line_digest
from gitbot.workflows.core.context import RunContext, base_head, status_name
from gitbot.workflows.core.stop_conditions import UnknownStop
from gitbot.workflows.ledger.writer import Journal

ACCEPT = "gitbot resume --accept-ledger"
WITHOUT = "the ledger has no anchor in the cluster: deploy/rbac/optional-ledger-anchor.yaml"
NOT_FOUND = 404
UNREADABLE = "the ledger's anchor cannot be read"
CONTEXT = "gitbot/ledger"
LOOK_BACK = 10  # commits of the base branch; the newest one with an anchor counts
EMPTY = "no line"
SUMMARY = """The last line of branch `gitbot/ledger`: its number, and its digest.

If gitbot does not find it there the next time, somebody changed the branch: it starts nothing."""


def anchor_of(ledger: Ledger) -> str:
    """Number and digest of the last line; "" if the ledger is empty."""
    if not ledger.events:
        return ""
    last = ledger.events[-1]
    return f"{last.seq} {line_digest(encode_event(last))}"


def rollback_reason(ledger: Ledger, anchor: str, *, who: str = "the cluster") -> str:
    """Why the ledger does not continue the anchored one; "" if it does."""
    number = anchor.partition(" ")[0]
    if not number.isdecimal():
        what = f"the ledger's anchor that {who} has is damaged: {shortened(anchor, 80)!r}"
        return f"{what}. If the ledger is whole, accept it as it is with `{ACCEPT}`"
    there = tuple(event for event in ledger.events if event.seq == int(number))
    if anchor == anchor_of(Ledger(events=there)):
        return ""
    last = ledger.events[-1].seq if ledger.events else 0
    what = f"it ends at line {last}" if last < int(number) else "it has another line there"
    return (
        f"the ledger is not the one that gitbot wrote: {who} knows its line {number}, and "
        f"{what}. Restore branch gitbot/ledger, or accept it as it is with `{ACCEPT}`: moves "
        "that it has forgotten may run again"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """The anchors of cluster and forge: a line, none (""), or why it cannot be read.

    Read them before the ledger: writers push first and anchor then, so an anchor is never ahead.
    """

    head: str | None = ""  # the cluster's; None: no right to read it
    trouble: str = ""
    forge: str = ""

    def stop(self, ledger: Ledger) -> str:
        """Why nothing may start on this ledger; "" if it may."""
        return UnknownStop(self.trouble or self.missed(ledger))

    @property
    def known(self) -> dict[str, str]:
        """The anchored line by place, without empty ones."""
        places = {"the cluster": self.head, "the forge": self.forge}
        return {who: head for who, head in places.items() if head}

    def missed(self, ledger: Ledger) -> str:
        """Which anchored line the ledger lacks, and what to do; "" if it has all anchored lines."""
        found = (rollback_reason(ledger, head, who=who) for who, head in self.known.items())
        return next(filter(None, found), "")


def read_anchor(shell: RunContext, *, ask_forge: bool = True) -> Anchor:
    """Raises ForgeError, RepositoryError."""
    forge = _on_forge(shell) if ask_forge else ""
    try:
        return Anchor(head=shell.cluster.ledger_anchor(shell.ledger_name) or "", forge=forge)
    except ClusterForbidden:
        shell.say(WITHOUT)
        return Anchor(head=None, forge=forge)
    except GitbotError as error:
        return Anchor(trouble=f"{UNREADABLE}: {error}", forge=forge)


def _on_forge(shell: RunContext) -> str:
    shell.repository.fetch()
    name = status_name(shell, CONTEXT)
    for commit in shell.repository.log(shell.base_branch, limit=LOOK_BACK):
        for status in shell.forge.list_statuses(commit.id):
            if status.context == name:
                return "" if status.description == EMPTY else status.description
    return ""


def write_forge_anchor(shell: RunContext, ledger: Ledger, base: str) -> None:
    """Write the forge's anchor at the newest commit of the base branch.

    Only after its old anchor was compared. A failed write stops nothing.
    """
    head = anchor_of(ledger)
    if head:
        try:
            _set_on_forge(shell, head, base)
        except ForgeError as error:
            shell.say(f"the ledger is not anchored on the forge: {error}")


def _set_on_forge(shell: RunContext, head: str, base: str) -> None:
    name = status_name(shell, CONTEXT)
    check = CheckRun(name=name, state=CheckState.SUCCESS, title=head, summary=SUMMARY)
    shell.forge.set_check(base, check)


def accept_current_ledger(shell: RunContext) -> None:
    """Accept the ledger as it is, even if it was rolled back."""
    head = anchor_of(shell.ledger_store.read())
    with suppress(ClusterForbidden):
        # otherwise there may be no namespace for one
        if shell.cluster.ledger_anchor(shell.ledger_name):
            shell.cluster.set_ledger_anchor(shell.ledger_name, head)
    _set_on_forge(shell, head or EMPTY, base_head(shell))


def write_cluster_anchor(shell: RunContext, journal: Journal, known: str | None) -> str | None:
    """Anchor what the ledger has beyond `known`; returns what the cluster has then.

    None: the anchor cannot be written. Commands and earlier passes write too, so a first anchor
    waits for this pass's first line.
    """
    head = anchor_of(journal.ledger)
    if known in (None, head) or not (known or journal.written):
        return known
    try:
        shell.cluster.set_ledger_anchor(shell.ledger_name, head)
    except GitbotError as error:
        absent = isinstance(error, ClusterRefused) and error.code == NOT_FOUND  # 404: no namespace
        shell.say(WITHOUT if absent else f"the ledger is not anchored in the cluster: {error}")
        return None
    return head
