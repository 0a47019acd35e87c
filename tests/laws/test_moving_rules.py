"""Rules as counts by domain say what the rules themselves say, after each move of random states."""

import random
from collections.abc import Callable

import pytest

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.migration_state import MigrationState
from gitbot.constraints.moves.target_nodes import pinned_alone, pinned_one_by_one
from gitbot.constraints.rules import rule_tracker, worsening
from gitbot.constraints.rules.placement_rule import PlacementRule
from gitbot.constraints.rules.rule_parts import (
    AffinityPart,
    AntiAffinityPart,
    NodePart,
    Peers,
    RulePart,
    SpreadPart,
)
from gitbot.constraints.rules.rule_tracker import MovingRules
from gitbot.constraints.rules.worsening import Seen, breaches_by_key
from gitbot.constraints.rules.zone_anti_affinity import ZoneAntiAffinity
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduling import SpreadConstraint
from gitbot.model.plan.constraint import Occupancy, RuleConstraint
from gitbot.model.plan.problem import Pin
from tests.depth import some_at_merge
from tests.laws.tiny import problem_of, tiny
from tests.unit.constraints.builders import (
    HOSTNAME,
    ZONE,
    node,
    pod,
    rule_ref,
    snapshot,
    vm_name,
)

KEYS = (ZONE, HOSTNAME, "rack")
NODES = tuple(f"n{number}" for number in range(7))
VMS = tuple(vm_name(f"vm{number}") for number in range(6))
SNAPSHOT = snapshot(
    *(
        node(
            name,
            ("", "a", "b", "c")[number % 4],
            labels={"rack": f"r{number % 3}"} if number % 5 else {},
        )
        for number, name in enumerate(NODES)
    )
)
INSTANCES = Instances(SNAPSHOT)
COLUMNS = World.of(SNAPSHOT).state.columns
STATES, MANY_STATES = 100, 1_000
PARTS = 4
"""Into so many tests the thousand states are split, each well below the limit of a test."""
Places = dict[NamespacedName, frozenset[str]]
Ends = dict[NamespacedName, tuple[str, str]]


def some(draw: random.Random) -> frozenset[NamespacedName]:
    return frozenset(draw.sample(VMS, draw.randint(0, len(VMS))))


def held(draw: random.Random) -> frozenset[str]:
    return frozenset(draw.sample((*NODES, "gone"), draw.choice((1, 1, 1, 2))))


def peers(draw: random.Random, vms: frozenset[NamespacedName]) -> Peers:
    fixed = frozenset(draw.sample(NODES, draw.choice((0, 0, 1))))
    return Peers(topology_key=draw.choice(KEYS), vms=vms, fixed=fixed)


def node_part(draw: random.Random) -> RulePart:
    nodes = frozenset(draw.sample(NODES, draw.randint(0, 5)))
    return NodePart(name="node-affinity", subjects=some(draw), nodes=nodes, wanted="x")


def apart_part(draw: random.Random) -> RulePart:
    known = [peers(draw, some(draw)) for _ in range(2)]
    terms = {vm: tuple(draw.sample(known, draw.randint(1, 2))) for vm in some(draw)}
    return AntiAffinityPart(name="anti-affinity", domains=INSTANCES.domains, terms=terms)


def near_part(draw: random.Random) -> RulePart:
    company = some(draw)
    terms = {
        vm: tuple(peers(draw, company) for _ in range(draw.choice((1, 1, 2)))) for vm in some(draw)
    }
    first = frozenset(vm for vm in terms if vm in company)
    return AffinityPart(name="affinity", domains=INSTANCES.domains, terms=terms, first=first)


def spread_part(draw: random.Random) -> RulePart:
    raw = {
        "maxSkew": draw.choice((1, 1, 2)),
        "topologyKey": draw.choice(KEYS),
        "whenUnsatisfiable": "DoNotSchedule",
        "minDomains": draw.choice((1, 1, 2, 4)),
    }
    return SpreadPart(
        name="spread[0]",
        domains=INSTANCES.domains,
        constraint=SpreadConstraint.of(raw, {}),
        counted=some(draw),
        nodes=frozenset(draw.sample(NODES, draw.choice((2, 4, 7)))),
        fixed=tuple(draw.sample(NODES, draw.choice((0, 0, 2)))),
    )


def most(draw: random.Random) -> RuleConstraint:
    return ZoneAntiAffinity(
        ref=rule_ref("most"),
        members=some(draw),
        domains=INSTANCES.domains,
        topology_key=draw.choice(KEYS),
        max_per_domain=draw.choice((0, 1, 1, 2)),
    )


def placement(
    *make: Callable[[random.Random], RulePart],
) -> Callable[[random.Random], RuleConstraint]:
    def rule(draw: random.Random) -> RuleConstraint:
        parts = tuple(each(draw) for each in make)
        members = frozenset[NamespacedName]().union(*(part.members for part in parts))
        return PlacementRule(ref=rule_ref("rule"), parts=parts, members=members)

    return rule


pytestmark = pytest.mark.timeout(600)
"""The slow form of the rules takes a quarter of the usual limit on an idle machine."""

RULES: dict[str, Callable[[random.Random], RuleConstraint]] = {
    "most": most,
    "node": placement(node_part),
    "apart": placement(apart_part),
    "near": placement(near_part),
    "spread": placement(spread_part),
    "several": placement(node_part, near_part, apart_part, spread_part),
}


@pytest.mark.parametrize("kind", sorted(RULES))
def test_the_counts_refuse_the_nodes_that_the_rule_refuses(kind: str) -> None:
    assert_refused_alike(kind, random.Random(kind), STATES)


@pytest.fixture
def asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The breaches of a state are asked once: for all nodes and in both forms it is the same."""
    known: dict[tuple[int, frozenset[object]], tuple[RuleConstraint, Seen]] = {}

    def remembered(rule: RuleConstraint, places: Occupancy) -> Seen:
        state = id(rule), frozenset[object](places.items())
        if state not in known:
            known[state] = rule, breaches_by_key(rule, places)  # a rule that is kept keeps its id
        return known[state][1]

    monkeypatch.setattr(worsening, "breaches_by_key", remembered)
    monkeypatch.setattr(rule_tracker, "breaches_by_key", remembered)


@pytest.mark.usefixtures("asked_once")
@pytest.mark.parametrize("part", some_at_merge(range(PARTS), 2))
@pytest.mark.parametrize("kind", ["near", "several"])
def test_they_refuse_them_in_many_more_states_of_company(kind: str, part: int) -> None:
    assert_refused_alike(kind, random.Random(f"many/{kind}/{part}"), MANY_STATES // PARTS)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", ["apart", "most", "node", "spread"])
def test_they_refuse_them_in_many_more_states(kind: str, part: int) -> None:
    assert_refused_alike(kind, random.Random(f"many/{kind}/{part}"), MANY_STATES // PARTS)


@pytest.mark.parametrize("kind", sorted(RULES))
def test_a_fork_and_its_origin_count_alone(kind: str) -> None:
    draw = random.Random(f"fork/{kind}")
    for _ in range(10):
        rules = [RULES[kind](draw)]
        occupancy: Places = {vm: held(draw) for vm in VMS}
        moving: Ends = {}
        origin = MovingRules(rules, COLUMNS, occupancy, moving)
        assert_alike(origin, occupancy, moving, draw)  # the counts are made here
        forked, forked_moving = dict(occupancy), dict(moving)
        fork = origin.fork(forked, forked_moving)
        for vm in draw.sample(VMS, 2):
            change(origin, occupancy, moving, vm, draw)
            assert_alike(fork, forked, forked_moving, draw)
            change(fork, forked, forked_moving, draw.choice(VMS), draw)
            assert_alike(origin, occupancy, moving, draw)


def assert_refused_alike(kind: str, draw: random.Random, states: int) -> None:
    for _ in range(states):
        rules = [RULES[kind](draw) for _ in range(draw.choice((1, 1, 2)))]
        occupancy: Places = {vm: held(draw) for vm in VMS if draw.random() < 0.8}
        moving: Ends = {}
        fast = MovingRules(rules, COLUMNS, occupancy, moving)
        for _ in range(4):
            assert_alike(fast, occupancy, moving, draw)
            vm = draw.choice(VMS)
            if vm in occupancy:
                change(fast, occupancy, moving, vm, draw)


def change(
    fast: MovingRules, occupancy: Places, moving: Ends, vm: NamespacedName, draw: random.Random
) -> None:
    before = occupancy[vm]
    if vm in moving:
        source, _ = moving.pop(vm)
        occupancy[vm] = before - {source} or before
    elif draw.random() < 0.3:
        source = min(before)
        target = draw.choice([name for name in NODES if name != source])
        moving[vm] = (source, target)
        occupancy[vm] = before | {target}
    else:
        occupancy[vm] = held(draw)
    fast.shift(vm, before, occupancy[vm])


def assert_alike(fast: MovingRules, occupancy: Places, moving: Ends, draw: random.Random) -> None:
    scalar = MovingRules(fast.rules, COLUMNS, occupancy, moving)
    for vm in sorted(occupancy):
        if vm in moving:
            continue
        source = draw.choice(sorted(occupancy[vm]))
        mask = fast.rule_mask(vm, source, COLUMNS.everywhere())
        for name, kept in zip(NODES, mask.tolist(), strict=True):
            if name != source:
                worse = any(scalar.worsened(number, vm, source, name) for number in scalar.over(vm))
                assert kept is not worse, (vm, name, occupancy, moving, fast.rules)


def test_who_lacks_company_is_who_is_alone_on_one_of_its_nodes() -> None:
    draw = random.Random("near")
    for _ in range(2_000):
        part = near_part(draw)
        assert isinstance(part, AffinityPart)
        occupancy = {vm: held(draw) for vm in VMS if draw.random() < 0.8}
        alone = [
            vm
            for vm in sorted(part.terms.keys() & occupancy.keys())
            if any(part.explain(vm, node, occupancy) for node in occupancy[vm])
        ]
        assert [miss.vms for miss in part.misses(occupancy)] == [(vm,) for vm in alone]


@pytest.mark.parametrize("first", range(0, 300, 100))
def test_what_is_undone_leaves_no_trace(first: int) -> None:
    """Starts, ends and cordons, undone to a random mark, give the answers of a fresh start."""
    for seed in range(first, first + 100):
        draw, case = random.Random(seed), problem_of(tiny(seed))
        transit, fresh = MigrationState.of(case), MigrationState.of(case)
        vms = sorted(vm for vm in fresh.instances if fresh.node_of(vm))
        marks = [(transit.mark(), 0)]
        done: list[tuple[str, NamespacedName, str]] = []
        for _ in range(8):
            step = random_step(transit, vms, draw)
            if step is not None:
                done.append(step)
                act(transit, step)
                marks.append((transit.mark(), len(done)))
            for vm in vms[:2]:
                transit.rule_mask(vm, transit.world.state.columns.everywhere())
        mark, count = draw.choice(marks)
        transit.undo_to(mark)
        for step in done[:count]:
            act(fresh, step)
        assert transit.occupancy == fresh.occupancy
        assert transit.moving == fresh.moving
        assert transit.breaches() == fresh.breaches()
        for name in transit.world.state.columns.names:
            assert transit.on(name) == fresh.on(name)
            assert transit.world.free(name) == fresh.world.free(name)
        for vm in vms:
            if vm not in transit.moving:
                options = transit.options(vm, Pin.NODE)
                assert options == fresh.options(vm, Pin.NODE)
                assert all(item.ok is transit.can_start_pinned(vm, item.node) for item in options)


def random_step(
    transit: MigrationState, vms: list[NamespacedName], draw: random.Random
) -> tuple[str, NamespacedName, str] | None:
    names = transit.world.state.columns.names
    vm, name = draw.choice(vms), draw.choice(names)
    if vm in transit.moving:
        return draw.choice(("finish", "fail")), vm, ""
    if draw.random() < 0.2:
        return "cordon", vm, name
    return ("start", vm, name) if transit.node_of(vm) != name else None


def act(transit: MigrationState, step: tuple[str, NamespacedName, str]) -> None:
    verb, vm, name = step
    match verb:
        case "start":
            transit.start(vm, name)
        case "finish":
            transit.finish(vm)
        case "fail":
            transit.fail(vm)
        case _:
            transit.cordon(name)


def test_a_pin_to_one_node_counts_that_node_alone() -> None:
    """The closed form against the filters, asked once for each node, in random clusters."""
    draw = random.Random("pinned")
    accepted = 0
    for _ in range(300):
        nodes = [
            node(
                name,
                draw.choice(("", "a", "b")),
                labels=draw.choice(({}, {"rack": "r1"}, {"rack": "r2", "disk": "fast"})),
                taints=draw.choice(([], [], [{"key": "k", "effect": "NoSchedule"}])),
            )
            for name in NODES[:5]
        ]
        apps = [{"app": draw.choice("xy")} for _ in range(6)]
        placed = [
            pod(f"p{number}", draw.choice(NODES[:5]), labels=labels)
            for number, labels in enumerate(apps)
        ]
        spread = [
            {
                "maxSkew": draw.choice((1, 2)),
                "topologyKey": draw.choice(KEYS),
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": draw.choice("xy")}},
                "minDomains": draw.choice((1, 2, 3)),
                "nodeTaintsPolicy": draw.choice(("Honor", "Ignore")),
            }
            for _ in range(draw.choice((1, 2)))
        ]
        selector = draw.choice(({}, {"disk": "fast"}))
        spec = {"topologySpreadConstraints": spread, "nodeSelector": selector}
        asked = Pod.from_object(pod("new", labels={"app": "x"}, spec=spec))
        world = World.of(snapshot(*nodes, *placed))
        found = pinned_alone(world, asked)
        accepted += int(found.sum())
        assert found.tolist() == pinned_one_by_one(world, asked, HOSTNAME).tolist()
    assert accepted > 100
