"""Profiles of kube-scheduler: a given KubeSchedulerConfiguration, and OpenShift's Scheduler."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.audit import audit_cluster
from gitbot.constraints.explanation import Explainer
from gitbot.constraints.scheduler.profiles import profiles_of, read_profiles
from gitbot.constraints.scheduler.world import World
from gitbot.errors import SnapshotError
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.pod import Pod
from gitbot.model.cluster.scheduler_profile import DEFAULT_WEIGHTS, SchedulerProfile
from tests.unit.constraints.builders import HOSTNAME, node, pod, snapshot, vm_name

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FIT, BALANCED = "NodeResourcesFit", "NodeResourcesBalancedAllocation"


def read(body: str = "") -> dict[str, SchedulerProfile]:
    return dict(read_profiles("scheduler.yaml", (HEAD + body).encode()).profiles)


def only(plugins: str) -> SchedulerProfile:
    (profile,) = read(f"profiles:\n- plugins: {plugins}\n").values()
    return profile


def openshift(profile: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "config.openshift.io/v1",
        "kind": "Scheduler",
        "metadata": {"name": "cluster"},
        "spec": {"profile": profile, **spec},
    }


def busy(*more: dict[str, Any], **spec: Any) -> ClusterSnapshot:
    """One node that is half full, one that is empty, and a new pod."""
    held = pod("held", "full", cpu="8", memory="32Gi")
    new = pod("new", cpu="1", memory="4Gi", spec=spec)
    return snapshot(node("empty"), node("full"), held, new, *more)


def winners(found: ClusterSnapshot) -> tuple[str, ...]:
    return Explainer(found).pod(vm_name("new")).winners


@pytest.mark.parametrize(
    ("profile", "chosen"),
    [
        ("", ("empty",)),
        ("LowNodeUtilization", ("empty",)),
        ("HighNodeUtilization", ("full",)),
        ("NoScoring", ("empty", "full")),
    ],
)
def test_openshifts_profile_chooses_the_node(profile: str, chosen: tuple[str, ...]) -> None:
    assert winners(busy(openshift(profile))) == chosen


def test_high_node_utilization_weighs_full_nodes_five_times_and_balance_not_at_all() -> None:
    found = Explainer(busy(openshift("HighNodeUtilization"))).pod(vm_name("new"))
    full = next(score for score in found.scores if score.node == "full")
    assert full.scores[FIT] == 56  # 9 of 16 cores, 36 of 64 GiB
    assert BALANCED not in full.scores
    rest = {name: DEFAULT_WEIGHTS[name] * score for name, score in full.scores.items()}
    assert full.total == sum(rest.values()) + 4 * 56


def test_the_planner_ranks_by_the_profile_too() -> None:
    found = busy(openshift("HighNodeUtilization"))
    world = World.of(found)
    new = Pod.from_object(found.of("Pod")[1])
    listed = world.totals(new, world.state.columns.everywhere().nonzero()[0])
    assert [score.total for score in world.scores(new, ("empty", "full"))] == listed.tolist()


def test_an_object_that_openshifts_operator_refuses_is_named() -> None:
    parts = profiles_of(busy(openshift("Mine", policy={"name": "old"}))).unjudged
    place = "schedulers.config.openshift.io/cluster"
    assert [str(part) for part in parts] == [
        f"{place}: policy old: the operator refuses it",
        f"{place}: profile Mine is unknown",
    ]


def test_openshifts_profile_that_was_not_read_is_named() -> None:
    plain = busy()
    marked = {**node("os"), "metadata": {"name": "os", "labels": {"node.openshift.io/os_id": "x"}}}
    for found, unread, said in (
        (plain, True, 0),
        (busy(marked), False, 0),
        (busy(marked), True, 1),
    ):
        missing = ("Scheduler",) if unread else ()
        parts = profiles_of(replace(found, missing_kinds=missing)).unjudged
        assert len(parts) == said
        assert all("kubectl get schedulers.config.openshift.io" in item.words for item in parts)


def test_the_scheduler_name_of_the_pod_chooses_the_profile() -> None:
    text = f"""profiles:
- schedulerName: default-scheduler
- schedulerName: packing
  pluginConfig: [{{name: {FIT}, args: {{scoringStrategy: {{type: MostAllocated}}}}}}]
  plugins: {{score: {{disabled: [{{name: {BALANCED}}}]}}}}
"""
    profiles = read_profiles("scheduler.yaml", (HEAD + text).encode())
    assert winners(busy().with_profiles(profiles)) == ("empty",)
    packed = busy(schedulerName="packing").with_profiles(profiles)
    assert winners(packed) == ("full",)
    assert [c.name for c in Explainer(packed).pod(vm_name("new")).checks] == []
    other = busy(schedulerName="other").with_profiles(profiles)
    assert [c.name for c in Explainer(other).pod(vm_name("new")).checks] == ["scheduler"]


def test_a_given_file_wins_over_openshifts_object() -> None:
    profiles = read_profiles("scheduler.yaml", HEAD.encode())
    assert winners(busy(openshift("HighNodeUtilization")).with_profiles(profiles)) == ("empty",)


@pytest.mark.parametrize(
    ("plugins", "weights"),
    [
        ("{}", {}),
        # its own list goes before multiPoint's; a weight that is not given is 1
        ("{score: {enabled: [{name: PodTopologySpread}]}}", {"PodTopologySpread": 1}),
        (
            "{multiPoint: {enabled: [{name: PodTopologySpread, weight: 7}]}}",
            {"PodTopologySpread": 7},
        ),
        (
            (
                "{multiPoint: {enabled: [{name: ImageLocality, weight: 7}]},"
                " score: {enabled: [{name: ImageLocality, weight: 3}]}}"
            ),
            {"ImageLocality": 3},
        ),
        ("{score: {disabled: [{name: ImageLocality}]}}", {"ImageLocality": 0}),
        ("{multiPoint: {disabled: [{name: ImageLocality}]}}", {"ImageLocality": 0}),
        (
            "{score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality, weight: 4}]}}",
            {**dict.fromkeys(DEFAULT_WEIGHTS, 0), "ImageLocality": 4},
        ),
        (
            "{score: {disabled: [{name: NodeAffinity}], enabled: [{name: NodeAffinity}]}}",
            {"NodeAffinity": 1},
        ),
    ],
)
def test_weights_merge_as_in_kube_scheduler(plugins: str, weights: dict[str, int]) -> None:
    expected = {name: value for name, value in {**DEFAULT_WEIGHTS, **weights}.items() if value}
    assert only(plugins).weights == expected


APART = {
    "requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": HOSTNAME}
    ]
}


@pytest.mark.parametrize(
    ("plugins", "feasible"),
    [
        ("{}", ("a",)),
        ("{filter: {disabled: [{name: InterPodAffinity}]}}", ("a", "b")),
        ("{multiPoint: {disabled: [{name: InterPodAffinity}]}}", ("a", "b")),
        ("{filter: {disabled: [{name: NodeUnschedulable}]}}", ("a", "c")),
        ("{filter: {disabled: [{name: '*'}]}}", ("a", "b", "c")),
        # a kubelet refuses what these refuse
        ("{filter: {disabled: [{name: NodeResourcesFit}, {name: NodeAffinity}]}}", ("a",)),
    ],
)
def test_filters_of_the_scheduler_alone_can_be_off(plugins: str, feasible: tuple[str, ...]) -> None:
    text = f"{HEAD}profiles:\n- plugins: {plugins}\n"
    profiles = read_profiles("scheduler.yaml", text.encode())
    new = pod("new", labels={"app": "db"}, spec={"affinity": {"podAntiAffinity": APART}})
    db = pod("db", "b", labels={"app": "db"})
    small, cordoned = node("small", cpu="50m"), node("c", unschedulable=True)
    found = snapshot(node("a"), node("b"), cordoned, small, db, new).with_profiles(profiles)
    world, asked = World.of(found), Pod.from_object(new)
    assert world.feasible(asked) == feasible == world.judge(asked).feasible
    assert tuple(name for name in ("a", "b", "c", "small") if world.fits(asked, name)) == feasible


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("extenders:\n- {urlPrefix: 'http://here'}\n", "3: extenders is not judged"),
        ("profile: []\n", "3: profile is not judged"),
        (
            "profiles:\n- schedulerName: default-scheduler\n  plugin: {score: {}}\n",
            "5: plugin of a profile is not judged",
        ),
        (
            "profiles:\n- plugins:\n    score:\n      enabled: [{name: Mine}]\n",
            "6: Mine: no plugin",
        ),
        ("profiles:\n- plugins: {postFilter: {disabled: [{name: '*'}]}}\n", "4: postFilter"),
        (
            "profiles:\n- plugins: {filter: {disabled: [{name: NodePorts}]}}\n",
            "4: filters NodePorts",
        ),
        (
            "profiles:\n- plugins: {preFilter: {disabled: [{name: NodePorts}]}}\n",
            "4: NodePorts filter",
        ),
        ("profiles:\n- plugins: {preScore: {disabled: [{name: '*'}]}}\n", "4: InterPodAffinity, "),
        (
            (
                "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n    args:\n"
                "      addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {}}\n"
            ),
            "7: addedAffinity of NodeAffinity is not judged",
        ),
        (
            (
                f"profiles:\n- pluginConfig:\n  - name: {FIT}\n    args:\n      scoringStrategy:\n"
                "        type: RequestedToCapacityRatio\n"
            ),
            "8: scoringStrategy RequestedToCapacityRatio",
        ),
        (
            (
                f"profiles:\n- pluginConfig:\n  - name: {FIT}\n    args:\n      scoringStrategy:\n"
                "        resources: [{name: cpu, weight: 2}, {name: memory}]\n"
            ),
            "8: scores weigh cpu and memory alike",
        ),
    ],
)
def test_what_is_not_followed_is_a_finding_with_file_and_line(text: str, said: str) -> None:
    profiles = read_profiles("scheduler.yaml", (HEAD + text).encode())
    (part,) = profiles.unjudged
    assert str(part).startswith(f"scheduler.yaml:{said}"), str(part)
    given = busy().with_profiles(profiles)
    (found,) = [f for f in audit_cluster(given) if f.finding.code == "audit/scheduler-profile"]
    assert (found.finding.file, found.finding.line) == ("scheduler.yaml", part.line)
    checks = Explainer(given).pod(vm_name("new")).checks
    assert [check.name for check in checks] == ["scheduler"]


def test_what_follows_the_defaults_is_no_finding() -> None:
    text = f"""leaderElection: {{leaderElect: true}}
parallelism: 32
percentageOfNodesToScore: 40
profiles:
- schedulerName: default-scheduler
  percentageOfNodesToScore: 100
  plugins: {{queueSort: {{enabled: [{{name: PrioritySort}}]}}}}
  pluginConfig:
  - {{name: DefaultPreemption, args: {{minCandidateNodesPercentage: 5}}}}
  - {{name: InterPodAffinity, args: {{hardPodAffinityWeight: 1}}}}
  - {{name: PodTopologySpread, args: {{defaultingType: System}}}}
  - {{name: VolumeBinding, args: {{bindTimeoutSeconds: 300}}}}
  - name: {FIT}
    args:
      scoringStrategy: {{resources: [{{name: memory, weight: 1}}, {{name: cpu}}]}}
- schedulerName: second
"""
    profiles = read(text)
    assert [profile.percentage for profile in profiles.values()] == [100, 40]
    assert all(profile.usual and not profile.unjudged for profile in profiles.values())


def test_a_config_map_that_holds_one_is_read_with_its_own_lines() -> None:
    inner = "".join(f"    {line}\n" for line in (HEAD + "extenders: [{}]").splitlines())
    text = (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: it}}\ndata:\n  config.yaml: |\n{inner}"
    )
    (part,) = read_profiles("map.yaml", text.encode()).unjudged
    assert str(part) == "map.yaml:8: extenders is not judged"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: Pod\n", "found no KubeSchedulerConfiguration"),
        (f"{HEAD}---\n{HEAD}", "found 2 KubeSchedulerConfiguration"),
        (
            HEAD.replace("/v1", "/v1beta3"),
            "s.yaml:1: apiVersion: found kubescheduler.config.k8s.io",
        ),
        (f"{HEAD}profiles: [{{}}, {{}}]\n", "profile default-scheduler twice"),
        (f"{HEAD}profiles: {{}}\n", "expected a list of mappings"),
        (f"{HEAD}percentageOfNodesToScore: most\n", "expected a number from 0"),
        (f"{HEAD}profiles: [\n", "s.yaml:3"),
        (f"{HEAD}profiles: [{{pluginConfig: [{{nam: {FIT}}}]}}]\n", "expected one of args, name"),
        (
            f"{HEAD}profiles: [{{plugins: {{score: {{disabled: [{{nam: x}}]}}}}}}]\n",
            "disabled.0.nam: found key nam",
        ),
    ],
)
def test_a_file_that_kube_scheduler_would_refuse_is_an_error(text: str, said: str) -> None:
    with pytest.raises(SnapshotError) as error:
        read_profiles("s.yaml", text.encode())
    assert said in str(error.value)
