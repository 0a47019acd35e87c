"""Laws of the constraints: one question has one answer, however it is asked."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.moves.migration_state import MigrationState
from gitbot.constraints.rules.worsening import breaches_by_key
from gitbot.constraints.rules.zone_anti_affinity import zone_anti_affinity
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.names import NamespacedName
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.cluster.pod import Pod
from gitbot.model.plan.constraint import worsened
from gitbot.model.plan.problem import Pin, Target
from gitbot.snapshot import from_objects, read_snapshot, write_snapshot
from tests.unit.constraints.builders import (
    ZONE,
    machine,
    node,
    pod,
    problem,
    rule_ref,
    snapshot,
    zones,
)
from tests.unit.constraints.recordings import recorded, scenario_snapshot

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
KEYS = (ZONE, "kubernetes.io/hostname", "rack")
APPS = ("web", "db", "cache")
quick = settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def selectors(draw: st.DrawFn) -> dict[str, Any]:
    operator = draw(st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist")))
    values = draw(st.lists(st.sampled_from(APPS), min_size=1, max_size=2, unique=True))
    key = draw(st.sampled_from(("app", "tier")))
    if operator in {"In", "NotIn"}:
        return {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}
    return {"matchExpressions": [{"key": key, "operator": operator}]}


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """Affinity, anti-affinity and spread of a pod."""

    def terms() -> list[dict[str, Any]]:
        return [
            {"topologyKey": draw(st.sampled_from(KEYS)), "labelSelector": draw(selectors())}
            for _ in range(draw(st.integers(0, 2)))
        ]

    spread = [
        {
            "maxSkew": draw(st.integers(1, 2)),
            "topologyKey": draw(st.sampled_from(KEYS)),
            "whenUnsatisfiable": draw(st.sampled_from(("DoNotSchedule", "ScheduleAnyway"))),
            "labelSelector": draw(selectors()),
            "nodeTaintsPolicy": draw(st.sampled_from(("Honor", "Ignore"))),
        }
        for _ in range(draw(st.integers(0, 1)))
    ]
    return {
        "affinity": {
            "podAffinity": {REQUIRED: terms() if draw(st.booleans()) else []},
            "podAntiAffinity": {REQUIRED: terms()},
        },
        "topologySpreadConstraints": spread,
        "nodeSelector": draw(st.sampled_from(({}, {}, {"disk": "fast"}))),
        "tolerations": draw(st.sampled_from(([], [], [{"operator": "Exists"}]))),
    }


@st.composite
def pods(draw: st.DrawFn, name: str, node_name: str = "") -> KubernetesObject:
    return pod(
        name,
        node_name,
        namespace=draw(st.sampled_from(("red", "blue"))),
        labels={"app": draw(st.sampled_from(APPS))},
        cpu=f"{draw(st.integers(0, 4))}",
        spec=draw(specs()),
    )


@st.composite
def clusters(draw: st.DrawFn) -> list[KubernetesObject]:
    """Two to six nodes with holes in their labels, and up to eight pods on them."""
    count = draw(st.integers(2, 6))
    objects: list[KubernetesObject] = []
    for number in range(count):
        labels = draw(st.sampled_from(({}, {"disk": "fast"}, {"rack": "r1"}, {"rack": "r2"})))
        taint = {"key": "k", "effect": draw(st.sampled_from(("NoSchedule", "PreferNoSchedule")))}
        objects.append(
            node(
                f"n{number}",
                draw(st.sampled_from(("", "a", "b"))),
                labels=labels,
                cpu=str(draw(st.integers(2, 8))),
                taints=draw(st.sampled_from(([], [], [taint]))),
                unschedulable=draw(st.integers(0, 5)) == 0,
            )
        )
    places = draw(st.lists(st.integers(0, count - 1), max_size=8))
    return objects + [draw(pods(f"p{place}", f"n{n}")) for place, n in enumerate(places)]


@quick
@given(clusters(), pods("new"))
def test_the_fast_answer_is_the_explained_one(
    cluster: list[KubernetesObject], new: KubernetesObject
) -> None:
    world, asked = World.of(snapshot(*cluster)), Pod.from_object(new)
    judgement = world.judge(asked)
    assert world.feasible(asked) == judgement.feasible
    for verdict in judgement.nodes:
        assert world.check(asked, verdict.node) == verdict.rejections


def test_the_fast_answer_is_the_explained_one_on_recorded_clusters() -> None:
    for scenario in recorded():
        world = World.of(scenario_snapshot(scenario))
        for obj in scenario["judge"]:
            asked = Pod.from_object(obj)
            assert world.feasible(asked) == world.judge(asked).feasible


@quick
@given(clusters(), pods("new"), st.randoms(use_true_random=False))
def test_the_order_of_objects_does_not_matter(
    cluster: list[KubernetesObject], new: KubernetesObject, random: Any
) -> None:
    asked = Pod.from_object(new)
    world = World.of(snapshot(*cluster))
    shuffled = list(cluster)
    random.shuffle(shuffled)
    kinds: dict[str, list[KubernetesObject]] = {"Node": [], "Pod": []}
    for obj in shuffled:
        kinds[obj["kind"]].append(obj)
    base = snapshot(*cluster)
    other = World.of(type(base)(cluster="x", taken_at=0, objects=_frozen(kinds), digest=""))
    assert world.judge(asked) == other.judge(asked)
    feasible = world.feasible(asked)
    assert world.scores(asked, feasible) == other.scores(asked, feasible)


def _frozen(kinds: dict[str, list[KubernetesObject]]) -> dict[str, tuple[KubernetesObject, ...]]:
    return {kind: tuple(objects) for kind, objects in kinds.items()}


@quick
@given(clusters(), pods("new"), st.data())
def test_taking_pods_away_and_back_leads_to_the_same_world(
    cluster: list[KubernetesObject], new: KubernetesObject, data: st.DataObject
) -> None:
    """Indexes kept step by step are those built at once; a fork never touches its origin."""
    world, asked = World.of(snapshot(*cluster)), Pod.from_object(new)
    before = world.judge(asked)
    placed = [Pod.from_object(obj) for obj in cluster if obj["kind"] == "Pod"]
    gone = [item for item in placed if data.draw(st.booleans())]
    fork = world.fork()
    for item in gone:
        fork.remove(item)
    rest = [
        obj
        for obj in cluster
        if obj["kind"] == "Node" or Pod.from_object(obj).name not in {item.name for item in gone}
    ]
    assert fork.judge(asked) == World.of(snapshot(*rest)).judge(asked)
    assert world.judge(asked) == before
    for item in gone:
        fork.add(item, item.node)
    assert fork.judge(asked) == before
    feasible = world.feasible(asked)
    assert fork.scores(asked, feasible) == world.scores(asked, feasible)


@quick
@given(clusters(), pods("new"))
def test_limits_and_usage_never_change_the_answer_but_requests_do(
    cluster: list[KubernetesObject], new: KubernetesObject
) -> None:
    world = World.of(snapshot(*cluster))
    spec = new["spec"]
    (container,) = spec["containers"]
    limited = {**container["resources"], "limits": {"cpu": "64", "memory": "1Ti"}}
    changed = {**new, "spec": {**spec, "containers": [{**container, "resources": limited}]}}
    assert world.feasible(Pod.from_object(changed)) == world.feasible(Pod.from_object(new))
    huge = {"requests": {"cpu": "1000"}}
    changed = {**new, "spec": {**spec, "containers": [{**container, "resources": huge}]}}
    assert world.feasible(Pod.from_object(changed)) == ()


VMS = tuple(NamespacedName(namespace="customapp", name=f"db-{number}") for number in range(4))


@st.composite
def occupancies(draw: st.DrawFn) -> dict[NamespacedName, frozenset[str]]:
    places = ("a-1", "a-2", "b-1", "b-2", "c-1", "bare")
    return {
        vm: frozenset(draw(st.lists(st.sampled_from(places), min_size=1, max_size=2)))
        for vm in VMS
        if draw(st.booleans())
    }


@quick
@given(occupancies(), st.integers(1, 2))
def test_a_place_given_up_never_worsens_a_zone_rule(
    occupancy: dict[NamespacedName, frozenset[str]], most: int
) -> None:
    objects = [*zones("a", "b", "c"), node("bare")]
    for vm in VMS:
        objects += machine(vm.name, "a-1")
    rule = zone_anti_affinity(
        Instances(snapshot(*objects)),
        ref=rule_ref(),
        namespace="customapp",
        selector={"matchLabels": {"kubevirt.io/domain": "db"}},
        max_per_domain=most,
    )
    before = rule.breaches(occupancy)
    for vm, nodes in occupancy.items():
        for given_up in nodes:
            after = rule.breaches({**occupancy, vm: nodes - {given_up}})
            assert worsened(before, after) == ()
    assert {breach.key for breach in before} == set(breaches_by_key(rule, occupancy))


@settings(max_examples=30)
@given(st.data())
def test_a_move_that_may_start_leaves_a_lawful_state_however_it_ends(data: st.DataObject) -> None:
    """allowed is options' ok; started, finished or failed, nothing is worse than before."""
    objects = zones("a", "b", "c", memory="5Gi")
    where = [item["metadata"]["name"] for item in objects]
    scene: list[KubernetesObject] = list(objects)
    for vm in VMS:
        scene += machine(vm.name, data.draw(st.sampled_from(where)))
    instances = Instances(snapshot(*scene))
    rule = zone_anti_affinity(
        instances,
        ref=rule_ref(),
        namespace="customapp",
        selector={"matchLabels": {"kubevirt.io/domain": "db"}},
    )
    transit = MigrationState.of(problem(*scene, rules=(rule,)))
    free = {name: dict(transit.world.free(name)) for name in where}
    for vm in VMS:
        pin = data.draw(st.sampled_from(list(Pin)))
        allowed = transit.allowed(vm, pin)
        options = transit.options(vm, pin)
        assert tuple(option.node for option in options if option.ok) == allowed
        assert all(option.reasons for option in options if not option.ok)
        assert transit.allowed(vm, pin, Target(nodes=tuple(where))) == allowed
        if not allowed:
            continue
        before = transit.breaches()
        chosen = data.draw(st.sampled_from(allowed))
        assert chosen in transit.landings(vm, pin, chosen)
        transit.start(vm, chosen)
        assert worsened(before, transit.breaches()) == ()
        if data.draw(st.booleans()):
            transit.finish(vm)
        else:
            transit.fail(vm)
        assert worsened(before, transit.breaches()) == ()
        for name in where:  # what was overcommitted before may stay so, never more
            now, least = transit.world.free(name), free[name]
            assert all(now[key] >= min(0, least[key]) for key in now)


_API_VERSIONS = {
    "CSINode": "storage.k8s.io/v1",
    "ReplicaSet": "apps/v1",
    "RuntimeClass": "node.k8s.io/v1",
    "StorageClass": "storage.k8s.io/v1",
}


def test_a_snapshot_file_keeps_all_that_decides() -> None:
    """Written, cut down and read back, a recorded cluster gives the same verdicts and scores."""
    for scenario in recorded():
        plain = scenario_snapshot(scenario)
        objects = [
            {**obj, "kind": kind, "apiVersion": _API_VERSIONS.get(kind, "v1")}
            for kind, listed in plain.objects.items()
            for obj in listed
        ]
        data = write_snapshot(from_objects("recorded", objects, 0))
        world = World.of(plain)
        other = World.of(read_snapshot([("file", data)], 0, cluster="recorded"))
        for obj in scenario["judge"]:
            asked = Pod.from_object(obj)
            feasible = world.feasible(asked)
            assert other.judge(asked) == world.judge(asked)
            assert other.scores(asked, feasible) == world.scores(asked, feasible)
