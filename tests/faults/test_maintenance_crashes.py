"""A drain with gitbot's own cordons, killed at every point, ends as the undisturbed one."""

from dataclasses import replace

import pytest

from gitbot.cli.commands.apply import exit_code
from gitbot.errors import ClusterError, ClusterForbidden, ClusterRefused
from gitbot.execution.executor_types import Maintenance, Terms
from gitbot.execution.ledger_folds import fold_homes, fold_nodes
from gitbot.execution.nodes import STATE_LABEL
from gitbot.model.ledger.request_id import OccurrenceId, RequestId
from gitbot.workflows.apply import apply, returned
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.faults.test_crashes import KillAt, Killed, install

OCCURRENCE = OccurrenceId(window="fw", id="o1")
LATER = OccurrenceId(window="fw", id="o2")
AS_EARLY = OccurrenceId(window="cabling", id="o1")
DRAIN = OCCURRENCE.drain


def a_stage() -> Stage:
    stage = Stage.of(nodes={"a": "east", "b": "east", "c": "west"}, vms={"one": "a", "two": "b"})
    stage.base.terms_by_request[DRAIN] = Terms(
        window="fw",
        maintenance=Maintenance(
            occurrence=OCCURRENCE, nodes=("a", "b"), cordon=True, done="Rebooted"
        ),
    )
    stage.approve(
        a_plan(
            a_move("one", "a", "c", request=DRAIN, group="a"),
            a_move("two", "b", "c", number=2, wave=1, request=DRAIN, group="b"),
        )
    )
    return stage


def run_to_the_end(stage: Stage) -> int:
    """Passes, and reboots of nodes that are ready, until one pass does nothing."""
    died = 0
    for _ in range(40):
        try:
            quiet = apply(stage.shell).did_nothing
        except Killed:
            died += 1
            continue
        rebooted = False
        for name, node in nodes(stage).items():
            info = stage.cluster.nodes[name]["status"]["nodeInfo"]
            if node == "ready" and info["bootID"] == f"boot-{name}":
                info["bootID"] = "second"
                rebooted = True
        if quiet and not rebooted:
            return died
    raise AssertionError("it never comes to rest")


def nodes(stage: Stage) -> dict[str, str]:
    found = fold_nodes(stage.store.read(), cluster="prod", occurrence=OCCURRENCE)
    return {name: str(node.state) for name, node in found.items()}


def end_of(stage: Stage) -> tuple[object, ...]:
    homes = fold_homes(stage.store.read(), cluster="prod", occurrence=OCCURRENCE)
    marks = {
        name: (
            bool(node["spec"].get("unschedulable")),
            sorted(key for key in node["metadata"]["labels"] if "gitbot" in key),
        )
        for name, node in stage.cluster.nodes.items()
    }
    return stage.cluster.where(), sorted(stage.cluster.creates()), nodes(stage), homes, marks


def test_the_undisturbed_run_leaves_no_trace_on_the_nodes() -> None:
    stage = a_stage()
    run_to_the_end(stage)
    where, creates, states, homes, marks = end_of(stage)
    assert where == {"one": "c", "two": "c"}
    assert len(list(creates)) == 2  # type: ignore[call-overload]
    assert states == {"a": "returned", "b": "returned"}
    assert marks == {"a": (False, []), "b": (False, []), "c": (False, [])}
    assert sorted(homes.values()) == ["a", "b"]  # type: ignore[attr-defined]


def test_killed_at_every_point_it_comes_to_the_same_end() -> None:
    clean = a_stage()
    counter = KillAt(0)
    install(clean, counter)
    run_to_the_end(clean)
    expected = end_of(clean)
    for number in range(1, counter.passed + 1):
        stage = a_stage()
        install(stage, KillAt(number))
        assert run_to_the_end(stage) == 1, number
        assert end_of(stage) == expected, f"killed at point {number}"


@pytest.mark.parametrize("verb", ["label", "cordon"])
def test_the_rights_on_nodes_are_optional_for_labels_and_needed_for_cordons(verb: str) -> None:
    from gitbot.errors import ClusterForbidden  # noqa: PLC0415

    stage = a_stage()

    def trouble(what: str, name: str) -> None:
        if what == verb:
            raise ClusterForbidden("nodes is forbidden", hint="apply deploy/rbac/nodes.yaml")

    stage.cluster.trouble = trouble
    if verb == "label":
        apply(stage.shell)
        assert stage.cluster.where()["one"] == "c"
        assert any("is not labelled" in line for line in stage.lines)
    else:
        result = apply(stage.shell)
        (refused,) = result.not_allowed
        assert refused.startswith("a cannot be cordoned: nodes is forbidden")
        assert stage.cluster.creates() == []
        assert exit_code(result) == 2


def test_a_cordon_that_is_refused_keeps_only_its_own_drain_from_starting() -> None:
    stage = a_stage()
    stage.cluster.instances |= Stage.of(nodes={}, vms={"three": "b"}).cluster.instances
    other = a_move("three", "b", "c", request=RequestId.read("request/db/three"))
    stage.approve(a_plan(other), branch="three")

    def trouble(verb: str, _: str) -> None:
        if verb == "cordon":
            raise ClusterRefused("a webhook keeps this node", code=403)

    stage.cluster.trouble = trouble
    for _ in range(2):
        assert "a webhook keeps this node" in str(apply(stage.shell).not_allowed)
        stage.clock.sleep(600)
    assert stage.cluster.where() == {"one": "a", "two": "b", "three": "c"}
    assert stage.states("request/db/three")[-1] == "1 succeeded"
    stage.cluster.trouble = lambda verb, what: None  # noqa: ARG005
    run_to_the_end(stage)
    assert stage.cluster.where() == {"one": "c", "two": "c", "three": "c"}


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (ClusterForbidden("nodes is forbidden"), "Forbidden"),
        (ClusterRefused("a webhook keeps this node", code=403), "Refused"),
    ],
)
def test_refused_cordon_is_a_missing_right_only_if_a_right_is_missing(
    error: ClusterError, outcome: str
) -> None:
    stage = a_stage()

    def trouble(verb: str, _: str) -> None:
        if verb == "cordon":
            raise error

    stage.cluster.trouble = trouble
    apply(stage.shell)
    waiting = [event for event in stage.store.read().events if event.state == "waiting"]
    assert {getattr(event, "outcome", "") for event in waiting} == {outcome}


def test_refused_uncordon_keeps_no_move_from_starting() -> None:
    stage = a_stage()
    terms = stage.base.terms_by_request[DRAIN]
    assert terms.maintenance is not None
    both = replace(terms.maintenance, max_nodes_at_once=2)
    stage.base.terms_by_request[DRAIN] = terms.replace(maintenance=both, attempts=2)
    stage.cluster.fails = {"two"}
    apply(stage.shell, max_runtime=60)
    assert nodes(stage) == {"a": "ready", "b": "draining"}
    assert stage.states(str(DRAIN))[-1] == "2 failed"
    stage.cluster.fails = set()
    stage.clock.sleep(60)
    stage.cluster.nodes["a"]["status"]["nodeInfo"]["bootID"] = "second"

    def trouble(verb: str, node: str) -> None:
        if (verb, node) == ("cordon", "a"):
            raise ClusterRefused("a webhook keeps this node", code=403)

    stage.cluster.trouble = trouble
    result = apply(stage.shell)
    assert "a cannot be uncordoned: a webhook keeps this node" in result.not_allowed
    assert stage.cluster.where()["two"] == "c"
    assert "2 waiting" not in stage.states(str(DRAIN))


def test_a_cordon_that_a_person_undid_and_did_again_is_theirs() -> None:
    """Between two looks: nothing but the API server's managedFields can tell."""
    stage = a_stage()
    apply(stage.shell)
    assert nodes(stage) == {"a": "ready"}
    stage.cluster.cordoned_by_others.add("a")
    stage.cluster.nodes["a"]["status"]["nodeInfo"]["bootID"] = "second"
    result = apply(stage.shell)
    node = stage.cluster.nodes["a"]
    assert node["spec"]["unschedulable"]
    assert stage.cluster.calls.count(("uncordon", "a")) == 1
    assert "placement.gitbot.dev/cordon" not in node["metadata"]["labels"]
    assert "a stays cordoned: somebody else did it" in stage.lines
    assert not any(item.did == "uncordoned" for item in result.nodes)
    reasons = [getattr(event, "reason", "") for event in stage.store.read().events]
    assert "somebody else cordoned it" in reasons
    assert apply(stage.shell).did_nothing
    node["spec"]["unschedulable"] = False
    apply(stage.shell)
    assert nodes(stage)["a"] == "returned"


def twice(second: OccurrenceId, *, done: str) -> Stage:
    """Two occurrences empty one node; the second begins while the first has it."""
    stage = Stage.of(nodes={"a": "east", "b": "east", "c": "west"}, vms={"one": "a", "two": "b"})
    for name, vm, number in ((OCCURRENCE, "one", 1), (second, "two", 2)):
        stage.base.terms_by_request[name.drain] = Terms(
            window=name.window,
            maintenance=Maintenance(occurrence=name, nodes=("a",), cordon=True, done=done),
        )
        move = a_move(vm, "a", "c", number=number, request=name.drain, group="a")
        stage.approve(a_plan(move), branch=name.drain.replace("/", "-"))
        apply(stage.shell)
        stage.cluster.instances["two"]["status"]["nodeName"] = "a" if vm == "one" else "c"
    return stage


@pytest.mark.parametrize("second", [LATER, AS_EARLY])
def test_two_occurrences_do_not_take_turns_with_the_labels_of_a_node(second: OccurrenceId) -> None:
    """Neither while both have it, nor once one of them has given it back."""
    stage = twice(second, done="Command")
    for _ in range(2):
        apply(stage.shell)
        before = list(stage.cluster.calls)
        apply(stage.shell)
        assert stage.cluster.calls == before
        assert stage.cluster.nodes["a"]["metadata"]["labels"][STATE_LABEL] == "ready"
        returned(stage.shell, node="a", by="ann")
    apply(stage.shell)
    assert not stage.cluster.nodes["a"]["spec"]["unschedulable"]
    assert not [key for key in stage.cluster.nodes["a"]["metadata"]["labels"] if "gitbot" in key]


def test_a_window_that_opens_at_the_same_time_leaves_the_cordon_of_the_other() -> None:
    stage = twice(AS_EARLY, done="Rebooted")
    apply(stage.shell)
    assert stage.cluster.nodes["a"]["spec"]["unschedulable"]
    assert stage.cluster.calls.count(("uncordon", "a")) == 0
    stage.cluster.nodes["a"]["status"]["nodeInfo"]["bootID"] = "second"
    for _ in range(2):
        apply(stage.shell)
    assert not stage.cluster.nodes["a"]["spec"]["unschedulable"]
    assert nodes(stage) == {"a": "returned"}
