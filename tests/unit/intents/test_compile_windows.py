"""Drains, healings, freezes, and the problem that they make together."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gitbot.intents.compile import (
    RequestHistory,
    build_problem,
    compile_drain,
    compile_freezes,
    compile_goals,
    compile_heal,
    compile_rules,
    effective_limits,
    opening_of,
)
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.problem import EmptyNodes, HealRule, Limits, MoveVms
from gitbot.model.text.instants import FOREVER, Interval, parse_instant
from tests.doubles.problems import NOW, ZONE, vm
from tests.unit.intents.compile_scene import (
    DB,
    SETTINGS,
    intents_of,
    request,
    said,
    small_cluster,
    snapshot_of,
)

FIRST = parse_instant("2026-12-06T21:00:00Z")
ZONED = "Europe/Madrid"
SCHEDULE = 'schedule: {start: "2026-12-06T22:00", duration: PT4H, recurrence: FREQ=WEEKLY}'
CORDON = "drain: {cordon: Gitbot}"


def window(fields: str, name: str = "w") -> str:
    return f"kind: MaintenanceWindow\nmetadata: {{name: {name}}}\nspec: {{{fields}}}"


def drained(fields: str, *, now: int = NOW, **more: object) -> tuple[EmptyNodes | None, list[str]]:
    goal, findings = compile_drain(
        intents_of(window(fields)),
        snapshot_of(small_cluster()),
        window="w",
        now=now,
        zone=ZONED,
        **more,  # type: ignore[arg-type]
    )
    return goal, said(findings)


def test_a_drain_in_full() -> None:
    goal, findings = drained(
        f"nodes: {{names: [n3, n1, n2]}}, {SCHEDULE}, drain: {{lead: PT2H, maxNodesAtOnce: 2, "
        "cordon: Gitbot, notMigratable: LeaveRunning}",
        past=RequestHistory(highest_moves={RequestId.read("drain/w/20261206T210000Z"): 7}),
    )
    assert findings == []
    assert goal is not None
    assert goal.request.id == RequestId.read("drain/w/20261206T210000Z")
    assert goal.request.allowed == (Interval(start=FIRST - 7_200, end=FIRST + 14_400),)
    assert goal.request.first_move == 8
    assert goal.nodes == ("n1", "n2", "n3")  # zone x, then y
    assert (goal.max_nodes_at_once, goal.block, goal.cordoned_by_gitbot) == (2, False, True)


@pytest.mark.parametrize(
    ("fields", "nodes", "expected"),
    [
        (f"nodes: {{selector: {{matchLabels: {{{ZONE}: y}}}}}}, {CORDON}", "n2 n3", []),
        (f"nodes: {{names: [n1, n7]}}, {CORDON}", "n1",
         [('error unknown-node spec.nodes.names[1]: there is no node "n7"; '
          "see kubectl get nodes")]),
        (f"nodes: {{selector: {{matchLabels: {{{ZONE}: q}}}}}}, {CORDON}", "",
         [("error selects-nothing spec.nodes.selector: selects no node; "
          "see kubectl get nodes --show-labels")]),
        ("nodes: {names: [n1, n2]}", "n1 n2",
         [("warning not-cordoned spec.drain.cordon: n1, n2 are not cordoned: new pods may "
          "land while VMs leave; cordon before the drain starts, or write "
          "drain.cordon: Gitbot")]),
        (SCHEDULE, "", []),  # a change window only
    ],
)  # fmt: skip
def test_which_nodes(fields: str, nodes: str, expected: list[str]) -> None:
    goal, findings = drained(fields)
    assert findings == expected
    assert (goal.nodes if goal else ()) == tuple(nodes.split())


@pytest.mark.parametrize(
    ("now", "occurrence", "expected"),
    [
        (FIRST - 9, "", "20261206T210000Z"),
        (FIRST + 9, "", "20261206T210000Z"),
        (FIRST + 14_400, "", "20261213T210000Z"),
        (FIRST + 14_400, "20261206T210000Z", "20261206T210000Z"),  # over, but not forgotten
        (FIRST, "20261220T210000Z", "20261220T210000Z"),
        (FIRST, "20261221T210000Z", None),
    ],
)
def test_which_occurrence(now: int, occurrence: str, expected: str | None) -> None:
    intents = intents_of(window(f"nodes: {{names: [n1]}}, {SCHEDULE}"))
    found = opening_of(intents, "w", now=now, zone=ZONED, occurrence=occurrence)
    assert (found.id if found else None) == expected


def test_a_window_without_schedule_is_open_under_its_commit() -> None:
    intents = intents_of(window("nodes: {names: [n1]}"))
    found = opening_of(intents, "w", now=NOW, commit="0123456789abcdef0123")
    assert found is not None
    assert found.drain == "drain/w/0123456789ab"
    assert found.allowed == Interval(start=0, end=FOREVER)
    assert opening_of(intents, "x", now=NOW) is None


def test_what_is_done_is_not_drained_again() -> None:
    fields = f"nodes: {{names: [n1, n2]}}, {SCHEDULE}, {CORDON}"
    drain = RequestId.read("drain/w/20261206T210000Z")
    goal, _ = drained(fields, past=RequestHistory(returned={drain: frozenset({"n1"})}))
    assert goal is not None
    assert goal.nodes == ("n2",)
    both = RequestHistory(returned={drain: frozenset({"n1", "n2"})})
    assert drained(fields, past=both)[0] is None
    past = RequestHistory(finished=frozenset({drain}))
    assert drained(fields.replace(CORDON, "drain: {}"), past=past) == (None, [])


def test_nodes_that_leave_together_are_closed_until_the_last_is_back() -> None:
    fields = f"nodes: {{names: [n1, n2]}}, {SCHEDULE}, drain: {{cordon: Gitbot, mode: Together}}"
    drain = RequestId.read("drain/w/20261206T210000Z")
    goal, _ = drained(fields, past=RequestHistory(returned={drain: frozenset({"n1"})}))
    assert goal is not None
    assert (goal.nodes, goal.together, goal.away) == (("n1", "n2"), True, None)


def test_a_window_without_schedule_that_has_ended_is_known_by_its_spec() -> None:
    """The commit that merged it is unknown where only the files are read."""
    fields = f"nodes: {{names: [n1]}}, {CORDON}"
    (intent,) = intents_of(window(fields)).intents
    drain = RequestId.read("drain/w/0123456789ab")
    past = RequestHistory(finished=frozenset({drain}), started={drain: intent.spec_digest})
    assert drained(fields, past=past)[0] is None
    other, _ = drained(fields.replace("n1", "n2"), past=past)
    assert other is not None
    again = RequestId.read("drain/w/abcdefabcdef")
    merged_again = replace(past, started={**past.started, again: intent.spec_digest})
    goal, _ = drained(fields, past=merged_again)
    assert goal is not None
    assert goal.request.id == again


RULE = (
    "kind: ZoneAntiAffinity\nmetadata: {name: db, namespace: a}\n"
    "spec: {selector: {matchLabels: {tier: db}}, %s}"
)
CROWDED = [*small_cluster()[:3], *(vm(f"db-{n}", on="n1", namespace="a", labels=DB) for n in "12")]


@pytest.mark.parametrize(
    ("fields", "broken", "count"),
    [
        ("heal: Propose", True, 1),
        ("heal: Propose, enforcement: Preferred", True, 1),
        ("heal: Report", True, 0),
        ("heal: Propose", False, 0),
        ("heal: Propose, topologyKey: rack", True, 0),
    ],
)
def test_healings(fields: str, broken: bool, count: int) -> None:
    intents = intents_of(RULE % fields)
    snapshot = snapshot_of(CROWDED if broken else small_cluster())
    rules, _ = compile_rules(intents, snapshot)
    goals = compile_heal(intents, snapshot, rules)
    assert [goal.request.id for goal in goals] == ["heal/a/ZoneAntiAffinity/db"] * count


@pytest.mark.parametrize(
    ("spec", "vms", "times"),
    [
        ("{reason: x}", "db-1 db-2 idle other web", [(0, FOREVER)]),
        ("{namespaces: [b], reason: x}", "other", [(0, FOREVER)]),
        ("{namespaces: [c, b], reason: x}", "other", [(0, FOREVER)]),
        ("{selector: {matchLabels: {tier: db}}}", "db-1 db-2", [(0, FOREVER)]),
        (
            '{namespaces: [b], schedule: {start: "2026-12-06T22:00", duration: PT1H}}',
            "other",
            [(FIRST, FIRST + 3_600)],
        ),
        ('{namespaces: [b], schedule: {start: "2026-12-05T22:00", duration: PT1H}}', "", []),
        ("{namespaces: [c]}", "", []),
    ],
)
def test_freezes(spec: str, vms: str, times: list[tuple[int, int]]) -> None:
    intents = intents_of(f"kind: FreezeWindow\nmetadata: {{name: f}}\nspec: {spec}")
    freezes, _ = compile_freezes(intents, snapshot_of(small_cluster()), now=NOW, zone=ZONED)
    found = [
        (sorted(vm.name for vm in f.vms), [(t.start, t.end) for t in f.times]) for f in freezes
    ]
    assert found == ([(vms.split(), times)] if vms else [])


def test_the_whole_problem() -> None:
    intents = intents_of(
        RULE % "heal: Propose",
        window(f"nodes: {{names: [n2]}}, {SCHEDULE}, {CORDON}"),
        window(SCHEDULE, "changes"),
        request("one", "{vms: {names: [db-1]}, window: changes}"),
        "kind: FreezeWindow\nmetadata: {name: f}\nspec: {namespaces: [b]}",
    )
    snapshot = snapshot_of(CROWDED)
    rules, _ = compile_rules(intents, snapshot)
    goals, findings = compile_goals(intents, snapshot, rules, now=NOW, zone=ZONED)
    assert findings == ()
    assert [type(goal) for goal in goals] == [MoveVms, EmptyNodes, HealRule]
    problem, findings = build_problem(
        cluster="prod",
        settings=SETTINGS,
        intents=intents,
        snapshot=snapshot,
        goals=goals,
        now=NOW,
    )
    assert findings == ()
    assert problem.goals == goals
    assert problem.bandwidth == SETTINGS.bandwidth
    assert [rule.ref.name for rule in problem.rules] == ["db"]
    assert sorted(problem.intents) == [
        "MaintenanceWindow/changes",
        "MaintenanceWindow/w",
        "MigrationRequest/a/one",
        "ZoneAntiAffinity/a/db",
    ]
    assert problem.intents["MaintenanceWindow/w"].startswith("sha256:")


def test_what_could_not_be_read_is_said() -> None:
    snapshot = replace(snapshot_of(CROWDED), denied_kinds=("MigrationPolicy",))
    intents = intents_of(RULE % "heal: Propose")
    _, found = build_problem(
        cluster="prod", settings=SETTINGS, intents=intents, snapshot=snapshot, goals=(), now=NOW
    )
    assert [(item.code, item.severity) for item in found] == [("plan/unread", "warning")]
    assert "may not list MigrationPolicy" in found[0].message


@pytest.mark.parametrize(
    ("selectors", "missing", "count"),
    [
        ({"namespaceSelector": {"speed": "slow"}}, ("Namespace",), 1),
        ({"namespaceSelector": {"speed": "slow"}}, (), 0),
        ({"virtualMachineInstanceSelector": {"speed": "slow"}}, ("Namespace",), 0),
    ],
)
def test_a_policy_by_namespace_needs_their_labels(
    selectors: Mapping[str, Any], missing: tuple[str, ...], count: int
) -> None:
    policy = {
        "apiVersion": "migrations.kubevirt.io/v1alpha1",
        "kind": "MigrationPolicy",
        "metadata": {"name": "slow"},
        "spec": {"selectors": selectors},
    }
    snapshot = replace(snapshot_of([*CROWDED, policy]), missing_kinds=missing)
    intents = intents_of(RULE % "heal: Propose")
    _, found = build_problem(
        cluster="prod", settings=SETTINGS, intents=intents, snapshot=snapshot, goals=(), now=NOW
    )
    assert [item.code for item in found] == ["plan/unread"] * count


@pytest.mark.parametrize(
    ("migrations", "parallel", "source"),
    [
        ({}, 5, 2),
        ({"parallelMigrationsPerCluster": 3, "parallelOutboundMigrationsPerNode": 1}, 3, 1),
        ({"parallelMigrationsPerCluster": 50, "parallelOutboundMigrationsPerNode": 50}, 8, 4),
    ],
)
def test_limits_are_the_smaller_ones(
    migrations: dict[str, int], parallel: int, source: int
) -> None:
    kubevirt = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
        "spec": {"configuration": {"migrations": migrations}},
    }
    limits = effective_limits(
        Limits(parallel=8, per_source_node=4), snapshot_of([*small_cluster(), kubevirt])
    )
    assert (limits.parallel, limits.per_source_node) == (parallel, source)


@pytest.mark.parametrize("nodes", ["", "nodes: {names: [n1]}, "])
def test_a_window_whose_openings_are_all_over_is_said(nodes: str) -> None:
    intents = intents_of(window(nodes + SCHEDULE.replace("FREQ=WEEKLY", '"FREQ=WEEKLY;COUNT=2"')))
    cluster = snapshot_of(small_cluster())
    over = FIRST + 8 * 86_400
    goal, findings = compile_drain(intents, cluster, window="w", now=over, zone=ZONED)
    assert goal is None
    assert [(item.code, item.severity) for item in findings] == [("intents/never-open", "warning")]
    assert "the window never opens again" in findings[0].message
    ahead = compile_drain(intents, cluster, window="w", now=FIRST, zone=ZONED)[1]
    assert "intents/never-open" not in [item.code for item in ahead]
