"""What the lines of nodes, concerns and stops add up to."""

from typing import Any

import pytest

from gitbot.execution.ledger_folds import (
    ConcernRecord,
    NodeRecord,
    fold_concern,
    fold_nodes,
    stop_flag,
    unknown_events_reason,
    window_as_merged,
)
from gitbot.model.ledger.event_parts import ProposalFile, WindowTerms
from gitbot.model.ledger.events import (
    ConcernChanged,
    ConcernState,
    HomeNoted,
    NodeChanged,
    NodeFacts,
    NodeState,
    StopLifted,
    StopSet,
    UnknownEvent,
    WindowBegun,
)
from gitbot.model.ledger.ledger import HOLD_FILE, Ledger, concern_file, node_file
from tests.unit.execution.scene import NOW, OCCURRENCE

NODES: dict[str, Any] = {"file": node_file("prod", OCCURRENCE), "request": OCCURRENCE.drain}


def changed(state: NodeState, time: int = NOW, reason: str = "", **facts: Any) -> NodeChanged:
    found = NodeFacts(node="a", **facts)
    return NodeChanged(**NODES, time=time, state=state, reason=reason, facts=found)


def test_a_node_of_which_nothing_is_written_waits_and_is_not_cordoned() -> None:
    assert not fold_nodes(Ledger(), cluster="prod", occurrence=OCCURRENCE)
    assert NodeRecord(node="a") == NodeRecord(
        node="a",
        state=NodeState.WAITING,
        since=0,
        boot_id="",
        reason="",
        cordoned_by_gitbot=False,
    )


def test_a_line_of_a_node_keeps_what_it_does_not_say() -> None:
    first = changed(NodeState.DRAINING, boot_id="one", cordoned=True)
    events = (first, changed(NodeState.READY, NOW + 5, "empty"))
    assert fold_nodes(Ledger(events=events), cluster="prod", occurrence=OCCURRENCE) == {
        "a": NodeRecord(
            node="a",
            state=NodeState.READY,
            since=NOW + 5,
            boot_id="one",
            reason="empty",
            cordoned_by_gitbot=True,
        )
    }


def test_the_window_is_the_one_of_its_first_drain() -> None:
    terms = WindowTerms(
        allowed=(),
        nodes=("a",),
        max_nodes_at_once=1,
        cordon=True,
        done="Rebooted",
        leave_running=False,
        return_home="Propose",
        finish=False,
    )
    home = HomeNoted(**NODES, time=NOW, vm="db/one", source="a")
    begun = WindowBegun(**NODES, time=NOW, terms=terms)
    draining = changed(NodeState.DRAINING)
    for events, found in (((home, draining, begun), terms), ((home, draining), None), ((), None)):
        ledger = Ledger(events=events)
        assert window_as_merged(ledger, cluster="prod", occurrence=OCCURRENCE) == found


def concern(state: ConcernState, **fields: Any) -> ConcernChanged:
    return ConcernChanged(
        file=concern_file("prod", "c"), cluster="prod", state=state, **{"time": NOW, **fields}
    )


SEEN = concern(ConcernState.OBSERVED, digest="o")
PROPOSED = concern(
    ConcernState.PROPOSED, digest="p", commit="head", proposal=ProposalFile(file="file")
)
OPENED = concern(ConcernState.OPENED, pull_request=7, time=NOW + 1)
NONE: dict[str, Any] = {
    "observation": "",
    "observed_since": 0,
    "opened": "",
    "pull_request": 0,
    "opened_at": 0,
    "ended": "",
    "gone": False,
    "closed": frozenset(),
    "commits": frozenset(),
    "files": {},
}
WRITTEN = {"opened": "p", "commits": frozenset({"head"}), "files": {"file": ""}}
OPEN = {**WRITTEN, "pull_request": 7, "opened_at": NOW + 1}


@pytest.mark.parametrize(
    ("events", "fields"),
    [
        ([], {}),
        ([SEEN], {"observation": "o", "observed_since": NOW}),
        ([SEEN, concern(ConcernState.GONE)], {"gone": True}),
        ([PROPOSED], WRITTEN),
        ([PROPOSED, concern(ConcernState.PROPOSED, digest="q")], {**WRITTEN, "opened": "q"}),
        ([PROPOSED, OPENED], OPEN),
        (
            [PROPOSED, OPENED, concern(ConcernState.GONE)],
            {**OPEN, "opened": "", "gone": True},
        ),
        ([concern(ConcernState.GONE), PROPOSED, OPENED], OPEN),
        (
            [PROPOSED, OPENED, concern(ConcernState.CLOSED, digest="p")],
            {**OPEN, "opened": "", "ended": "closed", "closed": frozenset({"p"})},
        ),
        (
            [PROPOSED, OPENED, concern(ConcernState.MERGED)],
            {**OPEN, "opened": "", "ended": "merged"},
        ),
        (
            [PROPOSED, OPENED, concern(ConcernState.WITHDRAWN)],
            {**OPEN, "opened": "", "ended": "withdrawn"},
        ),
        ([PROPOSED, OPENED, concern(ConcernState.AUTO)], OPEN),
    ],
)
def test_what_is_known_of_a_concern(events: list[ConcernChanged], fields: dict[str, Any]) -> None:
    record = fold_concern(Ledger(events=tuple(events)), cluster="prod", concern="c")
    assert record == ConcernRecord(concern="c", **{**NONE, **fields})


@pytest.mark.parametrize(("count", "more"), [(1, ""), (2, " and 1 more"), (3, " and 2 more")])
def test_lines_of_a_newer_gitbot_are_named_and_counted(count: int, more: str) -> None:
    events = [
        UnknownEvent(file="x.jsonl", time=NOW, cluster="prod", seq=seq, content={})
        for seq in range(4, 4 + count)
    ]
    said = f"line 4 (no state in x.jsonl){more}; update gitbot"
    assert unknown_events_reason(Ledger(events=tuple(events)), "prod").endswith(said)


def stopped(cluster: str, reason: str = "lunch") -> StopSet:
    return StopSet(file=HOLD_FILE, time=NOW, cluster=cluster, author="ann", reason=reason)


def resumed(cluster: str) -> StopLifted:
    return StopLifted(file=HOLD_FILE, time=NOW, cluster=cluster, author="ann")


@pytest.mark.parametrize(
    ("events", "flag"),
    [
        ((), ""),
        ((stopped("prod"),), "lunch"),
        ((stopped("prod", ""),), "held"),
        ((stopped(""),), "lunch"),
        ((stopped("other"),), ""),
        ((stopped("prod"), resumed("prod")), ""),
        ((stopped("prod"), resumed("other")), "lunch"),
        ((stopped("prod"), stopped("other"), resumed("other")), "lunch"),
        ((resumed("prod"), stopped("prod")), "lunch"),
    ],
)
def test_the_last_word_about_a_cluster_is_its_stop_flag(
    events: tuple[StopSet | StopLifted, ...], flag: str
) -> None:
    assert stop_flag(Ledger(events=events), "prod") == flag
