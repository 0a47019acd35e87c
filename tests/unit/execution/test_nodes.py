"""A node's way through a maintenance: waiting, draining, ready, returned."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from gitbot.execution.cluster_facts import mark_of
from gitbot.execution.executor_types import Maintenance, OutdatedGroup
from gitbot.execution.ledger_folds import NodeRecord, fold_homes, fold_nodes, window_as_merged
from gitbot.execution.nodes import home_event, may_begin
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.events import NodeChanged, NodeFacts, NodeState
from gitbot.model.ledger.ledger import node_file
from gitbot.model.ledger.request_id import OccurrenceId
from gitbot.model.plan.diagnosis import TOGETHER, warned
from gitbot.model.plan.problem import Freeze, Limits
from gitbot.model.text.instants import Interval
from gitbot.model.text.names import CORDON_LABEL, IntentRef
from tests.doubles.tiny_objects import tiny_node
from tests.unit.execution.scene import NOW, OCCURRENCE, World, line, move


@pytest.fixture
def world() -> World:
    return World.of("a", "b", "c", one="a", two="b")


def drain_moves() -> tuple[Any, ...]:
    return (
        move("one", "a", "c", request="drain/fw/o1", group="a"),
        move("two", "b", "c", 2, request="drain/fw/o1", group="b", wave=1),
    )


def states(world: World) -> dict[str, str]:
    nodes = fold_nodes(world.ledger, cluster="prod", occurrence=OCCURRENCE)
    return {name: str(node.state) for name, node in nodes.items()}


GATE = "health gate alerts is closed: 1 result, first alertname=Ceph"


def test_a_closed_gate_stops_the_next_node_and_not_the_one_that_has_begun(world: World) -> None:
    world.drain(*drain_moves())
    world.view["gate"] = GATE
    assert world.step() == ["1 approved", "2 approved"]
    assert world.waits == {1: GATE, 2: GATE}
    world.view["gate"] = ""
    assert world.step() == ["a draining", "1 intended"]
    world.view["gate"] = GATE
    finish(world, "one", "c")
    world.nodes["a"]["spec"]["unschedulable"] = True
    assert world.step() == ["1 succeeded", "a ready"]
    world.nodes["a"]["spec"]["unschedulable"] = False
    assert world.step() == ["a returned"]
    assert world.waits == {2: GATE}
    world.view["gate"] = ""
    assert world.step() == ["b draining", "2 intended"]


def test_a_closed_gate_stops_a_drain_of_all_at_once_only_before_it_begins(world: World) -> None:
    world.drain(*drain_moves(), together=True)
    world.view["gate"] = GATE
    assert world.step() == ["1 approved", "2 approved"]
    world.view["gate"] = ""
    world.problem["limits"] = Limits(parallel=1)
    first = world.step()
    assert "a draining" in first
    world.view["gate"] = GATE
    finish(world, "one", "c")
    assert any("2 intended" in said for said in (first, world.step()))


def finish(world: World, vm: str, on: str) -> None:
    world.run("Running")
    world.land(vm, on)


def test_a_node_drains_gets_ready_and_returns_before_the_next_begins(world: World) -> None:
    world.drain(*drain_moves())
    assert world.step() == ["1 approved", "2 approved", "a draining", "1 intended"]
    assert world.effects == ["label a draining", "create one"]
    finish(world, "one", "c")
    assert world.step() == ["1 succeeded"]
    assert world.waits == {2: "a must return first (maxNodesAtOnce 1)"}
    world.nodes["a"]["spec"]["unschedulable"] = True
    assert world.step() == ["a ready"]
    world.nodes["a"]["spec"]["unschedulable"] = False
    assert world.step() == ["a returned", "b draining", "2 intended"]
    assert states(world) == {"a": "returned", "b": "draining"}
    assert world.step() == []


def test_a_move_that_makes_room_does_not_take_its_own_node_out_of_service() -> None:
    """`two` leaves b for the turn of a; b has its own turn, for `three`, after a is back."""
    world = World.of("a", "b", "c", one="a", two="b", three="b")
    room = move("two", "b", "c", 2, request="drain/fw/o1", group="a")
    after = move("one", "a", "c", request="drain/fw/o1", group="a", wave=1, after=(room.ref,))
    last = move("three", "b", "c", 3, request="drain/fw/o1", group="b", wave=2, after=(after.ref,))
    world.drain(after, room, last)
    assert world.step() == ["1 approved", "2 approved", "3 approved", "2 intended"]
    assert states(world) == {}
    finish(world, "two", "c")
    assert world.step() == ["2 succeeded", "a draining", "1 intended"]
    assert states(world) == {"a": "draining"}


def test_a_move_to_a_node_of_the_window_waits_until_it_is_back(world: World) -> None:
    back = move("two", "b", "a", 2, request="drain/fw/o1", group="b", wave=1, after=())
    world.drain(drain_moves()[0], replace(back, after_return=True), max_nodes_at_once=2)
    world.step()
    assert world.effects == ["label a draining", "create one"]
    assert world.waits == {2: "a must return first"}
    finish(world, "one", "c")
    world.step()
    assert world.waits == {2: "a must return first"}
    world.nodes["a"]["spec"]["unschedulable"] = True
    assert world.step() == ["a ready"]
    world.nodes["a"]["spec"]["unschedulable"] = False
    assert world.step() == ["a returned", "b draining", "2 intended"]


def test_what_moves_as_one_waits_for_every_node_that_must_be_back() -> None:
    """a is back before b; both moves off c start when both are."""
    world = World.of("a", "b", "c", "d", one="a", two="b", three="c", four="c")
    as_one = (warned(TOGETHER, "three, four move as one"),)
    pair: list[Any] = [
        replace(
            move(vm, "c", to, number, request="drain/fw/o1", group="c", wave=1, after=()),
            after_return=True,
            checks=as_one,
        )
        for number, (vm, to) in enumerate((("three", "a"), ("four", "b")), 3)
    ]
    first = move("one", "a", "d", request="drain/fw/o1", group="a", after=())
    second = move("two", "b", "d", 2, request="drain/fw/o1", group="b", after=())
    world.drain(first, second, *pair, max_nodes_at_once=3)
    world.step()
    finish(world, "one", "d")
    world.nodes["a"]["spec"]["unschedulable"] = True
    world.step()
    world.nodes["a"]["spec"]["unschedulable"] = False
    assert "a returned" in world.step()
    assert {number: why for number, why in world.waits.items() if number > 2} == {
        3: "b must return first",
        4: "b must return first",
    }
    finish(world, "two", "d")
    world.nodes["b"]["spec"]["unschedulable"] = True
    world.step()
    world.nodes["b"]["spec"]["unschedulable"] = False
    assert {"3 intended", "4 intended"} <= {*world.step()}


def test_two_at_once_where_the_window_allows_it(world: World) -> None:
    first, second = drain_moves()
    world.drain(first, move("two", "b", "c", 2, request="drain/fw/o1", group="b"),
                max_nodes_at_once=2)  # fmt: skip
    assert second.wave == 1
    world.step()
    assert [item for item in world.effects if item.startswith("create")] == [
        "create one",
        "create two",
    ]
    windows = [event for event in world.ledger.events if event.state == "window"]
    assert len(windows) == 1, "the terms are noted once, however many nodes begin"


def test_homes_are_remembered_at_the_first_move(world: World) -> None:
    world.drain(*drain_moves())
    world.step()
    homes = fold_homes(world.ledger, cluster="prod", occurrence=OCCURRENCE)
    assert homes == {NamespacedName(namespace="db", name="one"): "a"}


@pytest.mark.parametrize("done", ["Rebooted", "Command"])
def test_gitbot_cordons_first_and_uncordons_when_the_node_is_back(world: World, done: str) -> None:
    world.drain(*drain_moves()[:1], cordon=True, done=done)
    world.step()
    assert world.effects == ["cordon a", "label a draining", "create one"]
    world.patch()
    finish(world, "one", "c")
    assert world.step() == ["1 succeeded", "a ready"]
    assert world.step() == []
    if done == "Rebooted":
        world.nodes["a"]["status"]["nodeInfo"]["bootID"] = "second"
    else:
        said = NodeChanged(
            file=node_file("prod", OCCURRENCE),
            time=NOW,
            state=NodeState.RETURNED,
            request=OCCURRENCE.drain,
            facts=NodeFacts(node="a"),
        )
        world.ledger = type(world.ledger)(events=(*world.ledger.events, said))
    assert world.step() == [], "its cordon still stands"
    assert "uncordon a" in world.effects
    world.patch()
    assert world.step() == ["a returned"]
    assert states(world) == {"a": "returned"}
    world.nodes["a"]["spec"]["unschedulable"] = True  # somebody else's business from now on
    assert world.step() == []
    assert not any("cordon" in item for item in world.effects)


def test_a_person_uncordons_where_that_says_that_the_node_is_back(world: World) -> None:
    world.drain(*drain_moves()[:1], cordon=True, done="Uncordoned")
    world.step()
    world.patch()
    finish(world, "one", "c")
    world.step()
    world.step()
    assert states(world) == {"a": "ready"}
    assert world.effects == ["label a ready"]
    world.patch()
    world.nodes["a"]["spec"]["unschedulable"] = False
    assert world.step() == ["a returned"]


def test_a_node_with_a_failed_move_is_not_ready_and_stays_cordoned(world: World) -> None:
    world.drain(*drain_moves(), cordon=True)
    world.step()
    world.patch()
    world.run("Running")
    world.set_phase("one", "Failed")
    assert world.step() == ["1 failed"]
    assert states(world) == {"a": "draining"}
    assert "uncordon a" not in world.effects
    assert world.waits == {2: "a must return first (maxNodesAtOnce 1)"}


def draining(world: World, *, fails: bool = False, **fields: Any) -> None:
    """Node a is cordoned by gitbot, and its VM moves, or failed to."""
    world.drain(*drain_moves(), cordon=True, done="Rebooted", **fields)
    world.step()
    world.patch()
    world.run("Running")
    if fails:
        world.set_phase("one", "Failed")
        assert world.step() == ["1 failed"]


def cordons(world: World) -> list[str]:
    return [item for item in world.effects if "cordon" in item]


def again(world: World, looks: int = 4) -> list[str]:
    """What is done to cordons in some looks."""
    done = []
    for _ in range(looks):
        world.step()
        done += cordons(world)
        world.patch()
    return done


@pytest.mark.parametrize("fails", [True, False])
def test_a_cordon_that_a_person_undid_does_not_come_again(world: World, fails: bool) -> None:
    draining(world, fails=fails)
    world.nodes["a"]["spec"]["unschedulable"] = False
    assert world.step()[-1] == "a draining"
    assert world.event("draining").reason == "somebody uncordoned it"
    world.patch()
    assert "placement.gitbot.dev/cordon" not in world.nodes["a"]["metadata"]["labels"]
    assert again(world) == []
    assert not world.nodes["a"]["spec"]["unschedulable"]


def test_a_cordon_that_was_never_sent_is_sent(world: World) -> None:
    world.drain(*drain_moves(), cordon=True)
    world.step()
    assert cordons(world) == ["cordon a"]
    world.step()  # the executor died before the patch
    assert cordons(world) == ["cordon a"]


def test_nothing_is_cordoned_while_the_stop_flag_is_set(world: World) -> None:
    world.drain(*drain_moves(), cordon=True)
    world.step()
    world.view["stop"] = "smoke"
    assert again(world) == []


def test_a_cordon_of_somebody_else_is_never_taken_for_gitbots(world: World) -> None:
    world.drain(*drain_moves()[:1], cordon=True, done="Rebooted")
    world.step()
    world.nodes["a"]["spec"]["unschedulable"] = True  # before gitbot's patch
    world.run("Running")
    assert world.step() == ["1 running", "a draining"]
    assert world.event("draining").reason == "somebody else cordoned it"
    world.land("one", "c")
    assert world.step() == ["1 succeeded", "a ready"]
    world.nodes["a"]["status"]["nodeInfo"]["bootID"] = "second"
    assert again(world) == []
    assert world.nodes["a"]["spec"]["unschedulable"]


@pytest.mark.parametrize("own", [True, False])
def test_cancel_takes_back_gitbots_own_cordon_only(world: World, own: bool) -> None:
    draining(world)
    if not own:
        del world.nodes["a"]["metadata"]["labels"]["placement.gitbot.dev/cordon"]
        world.step()
    world.cancel()
    assert again(world) == [], "its VM still moves"
    world.set_phase("one", "Failed")
    assert again(world) == (["uncordon a"] if own else [])
    assert world.nodes["a"]["spec"]["unschedulable"] is not own
    assert states(world)["a"] == ("returned" if own else "draining")
    assert not own or world.event("returned").reason == "the drain was cancelled"


@pytest.mark.parametrize("removed", [True, False])
def test_a_removed_window_takes_its_cordon_back_and_a_failed_drain_keeps_it(
    world: World, removed: bool
) -> None:
    draining(world, fails=True)
    (approved,) = world.approved
    maintenance = approved.terms.maintenance
    assert maintenance is not None
    kept = approved.terms.replace(maintenance=replace(maintenance, removed=removed))
    if removed:
        kept = kept.replace(void="its intent was removed")
    world.approved = [replace(approved, terms=kept)]
    assert again(world) == (["uncordon a"] if removed else [])
    assert not removed or world.event("returned").reason == "its window was removed"


def test_a_cordon_that_arrives_after_it_was_given_up_is_taken_back(world: World) -> None:
    world.drain(*drain_moves(), cordon=True)
    world.step()
    late = world.last
    world.cancel()
    world.now += 600
    assert again(world) == []
    assert states(world)["a"] == "returned"
    world.last = late
    world.patch()
    assert world.nodes["a"]["spec"]["unschedulable"]
    assert again(world) == ["uncordon a"]
    assert "placement.gitbot.dev/cordon" not in world.nodes["a"]["metadata"]["labels"]


def test_a_node_that_is_deleted_in_its_maintenance_makes_room_for_the_next(world: World) -> None:
    draining(world)
    world.land("one", "c")
    del world.nodes["a"]
    assert "a closed" in world.step()
    assert world.event("closed").reason == "the node is gone"
    world.step()
    assert states(world) == {"a": "closed", "b": "draining"}


def test_labels_that_stand_are_not_written_again(world: World) -> None:
    world.drain(*drain_moves()[:1])
    world.step()
    labels = {"placement.gitbot.dev/window": "fw", "placement.gitbot.dev/state": "draining"}
    world.nodes["a"]["metadata"]["labels"].update(labels)
    world.run("Running")
    world.step()
    assert world.effects == []


def test_vms_that_may_stay_do_not_keep_a_node_from_being_ready(world: World) -> None:
    stays = frozenset({NamespacedName(namespace="db", name="two")})
    world.vms["two"]["status"]["nodeName"] = "a"
    world.drain(*drain_moves()[:1], stays=stays)
    world.step()
    world.nodes["a"]["spec"]["unschedulable"] = True
    finish(world, "one", "c")
    world.step()
    world.step()
    assert states(world) == {"a": "ready"}


def test_a_vm_that_came_later_keeps_the_node_draining(world: World) -> None:
    world.vms["two"]["status"]["nodeName"] = "a"
    world.drain(*drain_moves()[:1])
    world.step()
    world.nodes["a"]["spec"]["unschedulable"] = True
    finish(world, "one", "c")
    world.step()
    world.step()
    assert states(world) == {"a": "draining"}


def test_an_empty_node_begins_when_the_window_opens(world: World) -> None:
    world.approve(
        *drain_moves()[:1],
        request="drain/fw/o1",
        allowed=(Interval(start=NOW + 60, end=NOW + 6000),),
        maintenance=_maintenance(("a", "c")),
    )
    world.step()
    assert states(world) == {}
    world.now += 60
    world.step()
    assert states(world) == {"a": "draining", "c": "draining"}


@pytest.mark.parametrize(("groups", "begun"), [((), {"c"}), (("a",), {"c"}), (("a", "b"), set())])
def test_no_empty_node_begins_while_a_policy_denies_its_plan(
    world: World, groups: tuple[str, ...], begun: set[str]
) -> None:
    world.approve(
        *drain_moves(),
        request="drain/fw/o1",
        maintenance=replace(_maintenance(("c", "a", "b")), max_nodes_at_once=1),
    )
    said = ("policy/late: not this week",)
    denied = [
        OutdatedGroup(request=OCCURRENCE.drain, group=group, reasons=said) for group in groups
    ]
    world.view["denied"] = tuple(denied)
    world.step()
    assert set(states(world)) == begun


def _maintenance(nodes: tuple[str, ...]) -> Any:
    return Maintenance(occurrence=OCCURRENCE, nodes=nodes, max_nodes_at_once=2)


def test_a_node_with_a_move_under_way_does_not_come_back_when_its_window_is_over(
    world: World,
) -> None:
    terms = replace(_maintenance(("a",)), done="Rebooted")
    allowed = (Interval(start=NOW, end=NOW + 600),)
    world.approve(*drain_moves()[:1], request="drain/fw/o1", allowed=allowed, maintenance=terms)
    world.step()
    world.run("Running")
    world.patch()
    world.nodes["a"]["spec"]["unschedulable"] = False
    world.now += 600
    world.step()
    assert states(world) == {"a": "draining"}


@pytest.mark.parametrize("kind", ["undone by a person", "never sent", "External"])
def test_a_node_in_service_comes_back_when_its_window_is_over(world: World, kind: str) -> None:
    terms = replace(_maintenance(("a",)), cordon=kind != "External", done="Rebooted")
    allowed = (Interval(start=NOW, end=NOW + 600),)
    world.approve(*drain_moves()[:1], request="drain/fw/o1", allowed=allowed, maintenance=terms)
    world.step()
    world.run("Running")
    if kind == "never sent":
        world.migrations.clear()
    else:
        world.patch()
        world.land("one", "c")
    world.nodes["a"]["spec"]["unschedulable"] = False
    world.step()
    assert states(world) == {"a": "draining"}
    world.now += 600
    assert again(world) == []
    assert states(world) == {"a": "returned"}
    assert world.event("returned").reason == "its window is over"
    assert "placement.gitbot.dev/state" not in world.nodes["a"]["metadata"]["labels"]


def test_a_cordon_that_stands_after_its_window_is_over_is_left(world: World) -> None:
    draining(world, fails=True)
    (approved,) = world.approved
    over = approved.terms.replace(allowed=(Interval(start=NOW - 600, end=NOW),))
    world.approved = [replace(approved, terms=over)]
    assert again(world) == []
    assert states(world) == {"a": "draining"}
    assert world.nodes["a"]["spec"]["unschedulable"]


# Which node begins, and once


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (NodeState.WAITING, ""),
        (NodeState.DRAINING, ""),
        (NodeState.READY, ""),
        (NodeState.RETURNED, "a is returned"),
        (NodeState.CLOSED, "a is closed"),
    ],
)
def test_a_node_leaves_service_once_in_an_occurrence(state: NodeState, said: str) -> None:
    only = Maintenance(occurrence=OCCURRENCE, nodes=("a",))
    assert may_begin({"a": NodeRecord(node="a", state=state)}, "a", only) == said


def test_a_home_is_noted_once(world: World) -> None:
    world.drain(*drain_moves())
    world.step()
    (approved,) = world.approved
    one, two = (NamespacedName(namespace="db", name=name) for name in ("one", "two"))
    assert home_event(world.look(), approved, one, "c") is None
    assert home_event(world.look(), approved, two, "b") is not None


def test_a_node_that_its_vms_left_by_themselves_begins_without_moves(world: World) -> None:
    world.vms["one"]["status"]["nodeName"] = "c"
    world.drain(*drain_moves()[:1])
    assert world.step() == ["1 approved", "1 obsolete", "a draining"]


def test_an_empty_node_that_a_vm_has_yet_to_pass_does_not_begin() -> None:
    world = World.of("a", "b", "c", one="b")
    first = move("one", "b", "a", request="drain/fw/o1")
    world.drain(first, move("one", "a", "c", 2, request="drain/fw/o1", wave=1), nodes=("a",))
    assert world.step() == ["1 approved", "2 approved", "1 intended"]


def test_a_node_that_gets_ready_makes_no_room_for_the_next(world: World) -> None:
    world.drain(*drain_moves()[:1], nodes=("a", "b"))
    world.step()
    world.nodes["a"]["spec"]["unschedulable"] = True
    world.vms["two"]["status"]["nodeName"] = "c"
    finish(world, "one", "c")
    assert world.step() == ["1 succeeded", "a ready"]


def test_a_node_that_is_deleted_while_it_waits_was_never_in_maintenance(world: World) -> None:
    world.drain(*drain_moves())
    world.step()
    del world.nodes["b"]
    world.step()
    assert states(world) == {"a": "draining"}


# Which node is back


def ready(world: World, **fields: Any) -> None:
    """Node a is empty, and gitbot cordoned it."""
    world.drain(*drain_moves()[:1], cordon=True, **fields)
    world.step()
    world.patch()
    finish(world, "one", "c")
    world.step()
    world.patch()
    assert states(world) == {"a": "ready"}


@pytest.mark.parametrize(
    ("done", "boot", "status", "back"),
    [
        ("Rebooted", "second", "True", True),
        ("Rebooted", "second", "False", False),
        ("Rebooted", "boot-a", "True", False),
        ("Rebooted", "", "True", False),
        ("Command", "second", "True", False),
        ("Uncordoned", "second", "True", False),
    ],
)
def test_gitbot_uncordons_what_is_back_and_nothing_else(
    world: World, done: str, boot: str, status: str, back: bool
) -> None:
    ready(world, done=done)
    world.nodes["a"]["status"] = {
        "conditions": [{"type": "Ready", "status": status}],
        "nodeInfo": {"bootID": boot},
    }
    assert again(world) == (["uncordon a"] if back else [])
    assert states(world) == {"a": "returned" if back else "ready"}


@pytest.mark.parametrize("fails", [True, False])
def test_a_node_that_reboots_while_it_drains_stays_cordoned(world: World, fails: bool) -> None:
    draining(world, fails=fails)
    world.nodes["a"]["status"]["nodeInfo"]["bootID"] = "second"
    assert again(world) == []


def test_a_cordon_that_arrives_after_a_person_undid_it_is_taken_back(world: World) -> None:
    draining(world)
    late = world.last
    world.nodes["a"]["spec"]["unschedulable"] = False
    world.step()
    world.patch()
    world.last = late
    world.patch()
    assert world.nodes["a"]["spec"]["unschedulable"]
    assert again(world) == ["uncordon a"]


def test_the_labels_go_when_the_node_is_back(world: World) -> None:
    ready(world, done="Rebooted")
    world.nodes["a"]["status"]["nodeInfo"]["bootID"] = "second"
    again(world)
    left = [key for key in world.nodes["a"]["metadata"]["labels"] if "gitbot" in key]
    assert (states(world), left) == ({"a": "returned"}, [])


# Several occurrences over one node


def over_a(world: World, window: str, number: str, state: NodeState, **facts: Any) -> None:
    """An occurrence that has node a in a state."""
    occurrence = OccurrenceId(window=window, id=number)
    said = NodeChanged(
        file=node_file("prod", occurrence),
        time=NOW,
        cluster="prod",
        state=state,
        request=occurrence.drain,
        facts=NodeFacts(node="a", **facts),
    )
    world.ledger = world.ledger.replace(events=(*world.ledger.events, said))
    known = Maintenance(occurrence=occurrence, nodes=("a",), cordon=True)
    world.approve(
        request=str(occurrence.drain), digest=f"sha256:{window}{number}", maintenance=known
    )


def test_an_occurrence_that_is_over_leaves_the_labels_to_the_next(world: World) -> None:
    over_a(world, "fw", "o1", NodeState.RETURNED)
    over_a(world, "fw", "o2", NodeState.DRAINING)
    world.step()
    assert world.effects == ["label a draining"]
    world.patch()
    world.step()
    assert world.effects == []


@pytest.mark.parametrize("whose", ["ours", "another window", "another gitbot", "earlier"])
def test_a_late_cordon_of_others_with_the_same_opening_is_left(world: World, whose: str) -> None:
    """It is not in the ledger; gitbot takes back what it sent itself and had given up."""
    over_a(world, "fw", "o1", NodeState.DRAINING, cordoned=False)
    ledger = world.ledger
    if whose == "another gitbot":
        world.ledger = ledger.replace(events=(msgspec.structs.replace(ledger.events[0], time=1),))
    window = "disks" if whose == "another window" else "fw"
    mark = mark_of(world.look(), OccurrenceId(window=window, id="o1"))
    world.ledger = ledger
    world.nodes["a"]["spec"]["unschedulable"] = True
    world.nodes["a"]["metadata"]["labels"][CORDON_LABEL] = "o1" if "earlier" in whose else mark
    world.step()
    assert cordons(world) == (["uncordon a"] if whose == "ours" else [])


def test_a_cordon_that_an_earlier_version_marked_is_gitbots(world: World) -> None:
    ready(world, done="Rebooted")
    world.nodes["a"]["metadata"]["labels"][CORDON_LABEL] = OCCURRENCE.id
    world.nodes["a"]["status"]["nodeInfo"]["bootID"] = "second"
    assert again(world) == ["uncordon a"]


def test_the_states_have_the_words_of_the_ledger() -> None:
    assert [str(state) for state in NodeState] == [
        "waiting",
        "draining",
        "ready",
        "returned",
        "closed",
    ]


@pytest.mark.parametrize(
    ("consent", "nodes"), [("waits for @db", ["a draining"]), ("", ["a draining", "a ready"])]
)
def test_a_later_plan_counts_for_nodes_once_its_owners_have_approved_it(
    consent: str, nodes: list[str]
) -> None:
    """It leaves a VM where it is that the earlier plan still moves."""
    world = World.of("a", "b", one="a", two="a")
    world.drain(move("one", "a", "b"), move("two", "a", "b", 2, wave=1), cordon=True)
    (first,) = world.approved
    two = NamespacedName(namespace="db", name="two")
    later = replace(_maintenance(("a",)), cordon=True, stays=frozenset({two}))
    world.approved.append(
        replace(
            first,
            approval=replace(first.approval, digest="sha256:1", pull_request=2, concern="rest"),
            terms=first.terms.replace(consent=consent, maintenance=later),
        )
    )
    world.step()
    assert "cordon a" in world.effects
    world.patch()
    world.run("Running")
    world.step()
    world.land("one", "b")
    world.step()
    assert [line(item) for item in world.ledger.events if isinstance(item, NodeChanged)] == nodes


def test_a_node_that_only_a_later_plan_drains_waits_for_its_turn_and_is_cordoned() -> None:
    world = World.of("a", "b", "c", one="a", two="b")
    first, second = drain_moves()
    world.drain(first, cordon=True)
    terms = replace(_maintenance(("b",)), cordon=True, max_nodes_at_once=1)
    world.approve(
        replace(second, wave=0),
        request="drain/fw/o1",
        digest="sha256:1",
        concern="window",
        maintenance=terms,
    )
    assert world.step() == ["1 approved", "2 approved", "a draining", "1 intended"]
    assert world.waits == {2: "a must return first (maxNodesAtOnce 1)"}
    world.patch()
    finish(world, "one", "c")
    assert world.step() == ["1 succeeded", "a ready"]
    world.nodes["a"]["spec"]["unschedulable"] = False
    assert "b draining" in world.step() + world.step()
    assert "cordon b" in world.effects


def proposed_again(*, consent: str = "") -> World:
    """A window over a, b and d: while a drains, the group of b is proposed and merged again."""
    world = World.of("a", "b", "c", "d", one="a", two="b", stays="a", guest="d")
    first, second = drain_moves()
    stays = frozenset({NamespacedName(namespace="db", name="stays")})
    terms = replace(_maintenance(("a", "b", "d")), cordon=True, max_nodes_at_once=1)
    known: dict[str, Any] = {"request": "drain/fw/o1", "concern": "drain"}
    world.approve(first, second, **known, maintenance=replace(terms, stays=stays))
    assert world.step() == ["1 approved", "2 approved", "a draining", "1 intended"]
    world.patch()
    again = replace(second, id=3, wave=0)
    later = replace(terms, nodes=("b",))
    world.approve(again, **known, digest="sha256:1", maintenance=later, consent=consent)
    return world


@pytest.mark.parametrize("consent", ["", "team-a has not approved"])
def test_a_group_that_is_proposed_again_leaves_the_other_nodes_as_they_were_approved(
    consent: str,
) -> None:
    world = proposed_again(consent=consent)
    finish(world, "one", "c")
    world.step()
    assert states(world)["a"] == "ready"  # one VM was approved to stay
    world.nodes["a"]["spec"]["unschedulable"] = False
    world.step()
    world.patch()
    finish(world, "two", "c")
    world.step()
    assert states(world) == {"a": "returned", "b": "ready"}
    del world.vms["guest"]
    world.nodes["b"]["spec"]["unschedulable"] = False
    world.step()
    world.patch()
    world.step()
    assert states(world) == {"a": "returned", "b": "returned", "d": "ready"}


def test_a_vm_that_stays_in_one_plan_and_moves_in_the_next_is_waited_for() -> None:
    world = proposed_again()
    later = move("stays", "a", "c", 4, request="drain/fw/o1", group="stays")
    terms = _maintenance(("a",))
    world.approve(
        later, request="drain/fw/o1", digest="sha256:2", concern="drain", maintenance=terms
    )
    finish(world, "one", "c")
    world.step()
    assert states(world)["a"] == "draining"
    finish(world, "stays", "c")
    world.step()
    assert states(world)["a"] == "ready"


# nodes that leave together


def together(world: World, **fields: Any) -> None:
    """A drain of a, b and the empty node d, all at once."""
    moves = [
        move(vm, source, "c", number, request="drain/fw/o1", group="drain/fw/o1")
        for number, (vm, source) in enumerate([("one", "a"), ("two", "b")], start=1)
    ]
    world.nodes["d"] = tiny_node("d")
    world.drain(*moves, nodes=("a", "b", "d"), together=True, **fields)


def effects(world: World, what: str) -> list[str]:
    return [item for item in world.effects if item.startswith(what)]


def test_nodes_that_leave_together_are_cordoned_before_the_first_move(world: World) -> None:
    world.problem = {"limits": Limits(parallel=1, reserve=0)}
    together(world, cordon=True)
    said = world.step()
    assert said[2:] == ["a draining", "b draining", "d draining", "1 intended"]
    assert [item for item in world.effects if not item.startswith("label")] == [
        "cordon a",
        "cordon b",
        "cordon d",
        "create one",
    ]
    begun = window_as_merged(world.ledger, cluster="prod", occurrence=OCCURRENCE)
    assert begun is not None
    assert begun.together


def test_the_empty_node_waits_for_the_first_move_of_the_others(world: World) -> None:
    together(world, cordon=True)
    world.view = {"stop": "held"}
    world.step()
    world.view = {}
    world.approved = [
        replace(item, terms=item.terms.replace(allowed=(Interval(start=NOW + 60, end=NOW + 900),)))
        for item in world.approved
    ]
    assert world.step() == []
    assert states(world) == {}


def test_an_empty_node_does_not_go_alone_once_the_moves_of_the_others_have_expired(
    world: World,
) -> None:
    together(world, cordon=True)
    span = Interval(start=NOW, end=NOW + 3600)
    world.approved = [
        replace(item, terms=item.terms.replace(allowed=(span,))) for item in world.approved
    ]
    vms = frozenset(NamespacedName(namespace="db", name=name) for name in ("one", "two"))
    close = IntentRef(kind="FreezeWindow", namespace="", name="close")
    world.problem["freezes"] = (Freeze(intent=close, vms=vms, times=(span,)),)
    assert [item for item in world.step() if "expired" in item] == ["1 expired", "2 expired"]
    world.problem["freezes"] = ()
    assert world.step() == []
    assert (states(world), effects(world, "cordon")) == ({}, [])


def test_one_failed_move_stops_the_other_nodes_too(world: World) -> None:
    world.problem = {"limits": Limits(parallel=1, reserve=0)}
    together(world)
    world.step()
    world.run("Failed")
    said = world.step()
    assert [item for item in said if item[0] in "12"] == ["1 failed", "2 withdrawn"]
    assert set(states(world).values()) == {"draining"}


@pytest.mark.parametrize("done", ["Rebooted", "Command"])
def test_no_cordon_is_removed_before_the_last_node_is_back(world: World, done: str) -> None:
    together(world, cordon=True, done=done)
    world.step()
    world.patch()
    world.run("Running")
    for vm in ("one", "two"):
        world.land(vm, "c")
    world.step()
    world.step()
    assert set(states(world).values()) == {"ready"}
    for name in ("a", "b", "d"):
        assert effects(world, "uncordon") == []
        comes_back(world, name, done)
        world.step()
    assert effects(world, "uncordon") == ["uncordon a", "uncordon b", "uncordon d"]
    world.patch()
    world.step()
    assert set(states(world).values()) == {"returned"}


def comes_back(world: World, name: str, done: str) -> None:
    if done == "Rebooted":
        world.nodes[name]["status"]["nodeInfo"] = {"bootID": "boot-2"}
        return
    said = NodeChanged(
        file=node_file("prod", OCCURRENCE),
        time=NOW,
        cluster="prod",
        state=NodeState.RETURNED,
        request=OCCURRENCE.drain,
        facts=NodeFacts(node=name),
    )
    world.ledger = world.ledger.replace(events=(*world.ledger.events, said))


def test_a_cancelled_drain_gives_up_the_empty_nodes_as_well(world: World) -> None:
    world.problem = {"limits": Limits(parallel=1, reserve=0)}
    together(world, cordon=True, done="Rebooted")
    world.step()
    world.patch()
    world.run("Failed")
    world.step()
    assert states(world) == {"a": "draining", "b": "draining", "d": "ready"}
    world.cancel()
    world.step()
    assert effects(world, "uncordon") == ["uncordon a", "uncordon b", "uncordon d"]
    world.patch()
    world.step()
    assert set(states(world).values()) == {"returned"}
