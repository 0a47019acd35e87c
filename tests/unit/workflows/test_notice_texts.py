"""What lines of the ledger mean for people."""

from gitbot.execution.ledger_folds import BREAKER
from gitbot.model.ledger.event_parts import MoveTerms, WindowTerms
from gitbot.model.ledger.events import (
    LedgerEvent,
    MoveApproved,
    MoveChanged,
    MoveState,
    NodeChanged,
    NodeFacts,
    NodeState,
    RequestCancelled,
    StopSet,
    WindowBegun,
)
from gitbot.model.ledger.ledger import HOLD_FILE
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.text.instants import parse_instant
from gitbot.workflows.watch.notice_texts import LISTED, Notice, daily_notice, ledger_notices

NOW = parse_instant("2026-12-01T02:14:07Z")
DRAIN = RequestId.read("drain/rack/20261201T020000Z")
AWAY = RequestId.read("request/db/away")


def told(*events: LedgerEvent) -> list[tuple[int, str, str, str]]:
    """Number of the line, event, severity and text."""
    numbered = [event.replace(seq=number) for number, event in enumerate(events, 1)]
    found = ledger_notices(numbered, "prod", name="ledger", zone="Europe/Madrid")
    return [(line, each.event, each.severity, each.text) for line, each in found]


def approved(vm: str, *, opens: int = NOW) -> MoveApproved:
    terms = MoveTerms(
        group="",
        wave=1,
        attempts=1,
        intent="",
        planned=AWAY,
        allowed=((opens, opens + 60),),
        finish=False,
    )
    return MoveApproved(file="", time=NOW, cluster="prod", request=AWAY, vm=vm, move=1, terms=terms)


def node(state: NodeState) -> NodeChanged:
    return NodeChanged(
        file="", time=NOW, cluster="prod", state=state, request=DRAIN, facts=NodeFacts(node="n1")
    )


def test_a_maintenance_is_told_from_its_begin_to_its_end() -> None:
    terms = WindowTerms(
        allowed=(),
        nodes=("n1", "n2"),
        max_nodes_at_once=1,
        cordon=True,
        done="Command",
        leave_running=False,
        return_home="Never",
        finish=False,
    )
    begun = WindowBegun(file="", time=NOW, cluster="prod", request=DRAIN, terms=terms)
    states = (NodeState.DRAINING, NodeState.READY, NodeState.RETURNED, NodeState.CLOSED)
    assert told(begun, *map(node, states)) == [
        (1, "WindowBegun", "Info", f"{DRAIN} has begun on n1, n2"),
        (3, "NodeReady", "Warning", "node n1 is empty"),
        (4, "NodeReturned", "Info", "node n1 takes VMs again"),
    ]


def test_moves_approved_together_are_one_notice_for_each_namespace() -> None:
    later = NOW + 3600
    moves = [approved(f"db/vm-{number}", opens=later) for number in range(7)]
    when = "from Tue 2026-12-01 04:14:07 Europe/Madrid on"
    five = "db/vm-0, db/vm-1, db/vm-2, db/vm-3, db/vm-4"
    assert told(*moves, approved("web/one")) == [
        (7, "Approved", "Info", f"{five} and 2 more will move {when}, by {AWAY}"),
        (8, "Approved", "Info", f"web/one will move, by {AWAY}"),
    ]


def test_a_move_that_failed_says_why_in_harmless_text() -> None:
    failed = MoveChanged(
        file="",
        time=NOW,
        cluster="prod",
        request=AWAY,
        vm="db/one",
        move=1,
        source="n1",
        to="n2",
        reason="no\x1b[2J route",
        state=MoveState.FAILED,
    )
    text = "db/one did not move from n1 to n2: noU+001B[2J route"
    assert told(failed) == [(1, "Failed", "Error", text)]


def test_the_breaker_is_not_a_person() -> None:
    stops = [
        StopSet(file=HOLD_FILE, time=NOW, cluster=cluster, author=author, reason="three failed")
        for cluster, author in (("", BREAKER), ("prod", "ann"), ("other", "ann"))
    ]
    assert told(*stops) == [
        (1, "BreakerOpened", "Error", "the circuit breaker stopped gitbot: three failed"),
        (2, "Stopped", "Warning", "gitbot starts nothing more: three failed"),
    ]


def test_what_nobody_need_know_is_not_told() -> None:
    assert told(RequestCancelled(file="", time=NOW, cluster="prod", request=AWAY)) == []


def test_a_daily_notice_lists_some_and_counts_the_others() -> None:
    many = [Notice(id=str(n), event="Moved", said=f"vm-{n}", time=NOW) for n in range(LISTED + 2)]
    document = daily_notice(many, "prod", name="ledger", until=NOW)
    lines = document.text.split("\n")
    assert len(lines) == LISTED + 2
    assert lines[-1] == "- and 2 more"
    assert document.id == "ledger/daily/20261201T021407Z"
