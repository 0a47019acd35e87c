"""The audit's quick answer about placed pods is that of the whole scheduler, on random clusters."""

from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitbot.constraints.audit_placement import PlacedPod, _wishes, misplaced, placed_pods
from gitbot.constraints.scheduler.filters.inter_pod_affinity import BY_OTHERS
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.objects import KubernetesObject, with_value
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.pod import Pod
from gitbot.snapshot import from_objects
from tests.doubles.problems import vm
from tests.laws.test_constraints_laws import APPS, REQUIRED, clusters, specs

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TERMS = ("NodeAffinity", "PodTopologySpread", "InterPodAffinity")
Said = tuple[str, str, int, str]


@st.composite
def cases(draw: st.DrawFn) -> list[KubernetesObject]:
    """Random pods, some of whose terms are only preferred; VMs beside them, one in migration."""
    objects = [
        _softened(obj) if obj["kind"] == "Pod" and draw(st.booleans()) else obj
        for obj in draw(clusters())
    ]
    nodes = [obj["metadata"]["name"] for obj in objects if obj["kind"] == "Node"]
    for number in range(draw(st.integers(0, 4))):
        instance, launcher = vm(
            f"vm-{number}",
            on=draw(st.sampled_from(nodes)),
            namespace="red",
            labels={"app": draw(st.sampled_from(APPS))},
        )
        spec = {key: value for key, value in draw(specs()).items() if key != "tolerations"}
        instance = with_value(instance, {**instance["spec"], **spec}, "spec")
        held = {} if draw(st.booleans()) else spec  # the rule changed after the pod was made
        launcher = with_value(launcher, {**launcher["spec"], **held}, "spec")
        objects += [instance, launcher]
        if draw(st.booleans()):
            twin = with_value(launcher, f"twin-{number}", "metadata", "name")
            twin = with_value(twin, f"uid-twin-{number}", "metadata", "uid")
            objects.append(with_value(twin, draw(st.sampled_from(nodes)), "spec", "nodeName"))
    return objects


def _softened(pod: KubernetesObject) -> KubernetesObject:
    def wished(block: dict[str, Any]) -> dict[str, Any]:
        terms = block.get(REQUIRED) or []
        return {PREFERRED: [{"weight": 7, "podAffinityTerm": term} for term in terms]}

    affinity = pod["spec"].get("affinity") or {}
    return with_value(
        pod, {name: wished(block) for name, block in affinity.items()}, "spec", "affinity"
    )


def plain(snapshot: ClusterSnapshot, placed: PlacedPod, asked: Pod) -> set[tuple[str, str]]:
    """Everything that the scheduler says against the pod's node when its own pods are gone."""
    world = World.of(snapshot)
    for name in placed.own:
        if world.pod(name) is not None:
            world.remove(name)
    said = world.judge(replace(asked, node="")).at(placed.node)
    assert said is not None
    return {
        (item.plugin, str(item))
        for item in said.rejections
        if item.plugin in TERMS and item.reasons != (BY_OTHERS,)
    }


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(cases())
def test_what_is_misplaced_is_what_the_scheduler_would_refuse(
    objects: list[KubernetesObject],
) -> None:
    snapshot = from_objects("test", tuple(objects), 0)
    pods = tuple(placed_pods(snapshot))
    found: set[Said] = {
        (str(item.placed.pod.name), item.rejection.plugin, item.weight, str(item.rejection))
        for item in misplaced(snapshot, pods)
    }
    expected: set[Said] = set()
    for placed in pods:
        name = str(placed.pod.name)
        for plugin, text in plain(snapshot, placed, placed.pod):
            expected.add((name, plugin, 0, text))
        for plugin, weight, affinity, spread in _wishes(placed.pod):
            wish = replace(placed.pod, affinity=affinity, spread=spread)
            for said, text in plain(snapshot, placed, wish):
                if said == plugin:
                    expected.add((name, plugin, weight, text))
    assert found == expected


def test_the_cases_have_something_to_find() -> None:
    """The law above is not empty: a fixed case with each kind of answer."""
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}
    affinity = {"podAntiAffinity": {REQUIRED: [term]}}
    nodes = [
        {"kind": "Node", "metadata": {"name": name, "labels": {"zone": "a"}}} for name in ("n", "m")
    ]
    twins = [vm(f"db-{on}", on=on, labels={"app": "db"}, affinity=affinity) for on in ("n", "m")]
    snapshot = from_objects("test", (*nodes, *twins[0], *twins[1]), 0)
    pods = tuple(placed_pods(snapshot))
    assert [item.placed.vm.name for item in misplaced(snapshot, pods) if item.placed.vm] == [
        "db-m",
        "db-n",
    ]
