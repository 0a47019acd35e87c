"""Claims and volumes: what is reachable, what can be bound, how many a node attaches."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gitbot.constraints.scheduler.verdicts import Judgement
from gitbot.constraints.scheduler.world import World
from gitbot.kubernetes.objects import KubernetesObject, name_of
from gitbot.model.cluster.pod import Pod
from gitbot.snapshot import from_objects
from tests.unit.constraints.builders import HOSTNAME, ZONE, node, pod, snapshot, zones

BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
NODES = [*zones("a", "b", per_zone=1), node("bare")]


def claim(
    name: str = "disk", volume: str = "", *, metadata: dict[str, Any] | None = None, **spec: Any
) -> KubernetesObject:
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": "customapp",
            "annotations": BOUND if volume else {},
            **(metadata or {}),
        },
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "10Gi"}},
            **({"volumeName": volume} if volume else {}),
            **spec,
        },
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def volume(
    name: str = "v", *, terms: Any = None, labels: dict[str, str] | None = None, **spec: Any
) -> KubernetesObject:
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if terms else {}
    return {
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "fast",
            "capacity": {"storage": "20Gi"},
            **affinity,
            **spec,
        },
        "status": {"phase": "Available"},
    }


def storage_class(mode: str = "WaitForFirstConsumer", **fields: Any) -> KubernetesObject:
    return {
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "csi.example.com",
        "volumeBindingMode": mode,
        **fields,
    }


def user(*claims: str) -> Pod:
    volumes = [
        {"name": f"d{number}", "persistentVolumeClaim": {"claimName": name}}
        for number, name in enumerate(claims or ("disk",))
    ]
    return Pod.from_object(pod("new", spec={"volumes": volumes}))


def judge(objects: Sequence[KubernetesObject], new: Pod | None = None) -> Judgement:
    asked = new or user()
    world = World.of(snapshot(*NODES, *objects))
    judgement = world.judge(asked)
    assert world.feasible(asked) == judgement.feasible
    return judgement


def on(key: str, *values: str) -> list[dict[str, Any]]:
    return [{"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}]


@pytest.mark.parametrize(
    ("objects", "plugin", "reason"),
    [
        ([], "VolumeRestrictions", 'persistentvolumeclaim "disk" not found'),
        ([claim(), storage_class("Immediate")], "VolumeBinding",
         "pod has unbound immediate PersistentVolumeClaims"),
        ([claim()], "VolumeBinding", "pod has unbound immediate PersistentVolumeClaims"),
        ([{**claim(volume="v"), "status": {"phase": "Lost"}}], "VolumeBinding",
         'persistentvolumeclaim "disk" bound to non-existent persistentvolume "v"'),
        ([claim(volume="v", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), volume()],
         "VolumeBinding", 'persistentvolumeclaim "disk" is being deleted'),
    ],
)  # fmt: skip
def test_some_claims_refuse_the_pod_before_any_node(
    objects: list[KubernetesObject], plugin: str, reason: str
) -> None:
    judgement = judge(objects)
    assert judgement.whole is not None
    assert (judgement.whole.plugin, judgement.whole.reasons) == (plugin, (reason,))
    assert judgement.feasible == ()
    assert all(not verdict.resolvable for verdict in judgement.nodes)


def test_an_ephemeral_volume_waits_for_its_claim() -> None:
    spec = {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}]}
    new = Pod.from_object(pod("new", spec=spec))
    assert new.claims == ("new-scratch",)
    judgement = judge([], new)
    assert judgement.whole is not None
    assert 'create the persistentvolumeclaim "new-scratch"' in judgement.whole.reasons[0]
    foreign = claim("new-scratch", "v")
    judgement = judge([foreign, volume()], new)
    assert judgement.whole is not None
    assert "pod is not owner" in judgement.whole.reasons[0]
    owner = {"kind": "Pod", "name": "new", "uid": "uid-new", "controller": True}
    own = {**foreign, "metadata": {**foreign["metadata"], "ownerReferences": [owner]}}
    assert judge([own, volume()], new).feasible == ("a-1", "b-1", "bare")


@pytest.mark.parametrize(
    ("found", "feasible"),
    [
        (volume(), ("a-1", "b-1", "bare")),
        (volume(terms=on(ZONE, "a")), ("a-1",)),
        (volume(terms=[*on(ZONE, "a"), *on(HOSTNAME, "bare")]), ("a-1", "bare")),
        # matchFields are not asked: the check knows no name
        (
            volume(
                terms=[
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a-1"]}]}
                ]
            ),
            ("a-1", "b-1", "bare"),
        ),
        (volume(labels={ZONE: "b"}), ("b-1", "bare")),
        (volume(labels={ZONE: "a__b"}), ("a-1", "b-1", "bare")),
        (volume(labels={"failure-domain.beta.kubernetes.io/zone": "a"}), ("a-1", "bare")),
        (volume(labels={"topology.kubernetes.io/region": "eu"}), ("bare",)),
    ],
)
def test_a_bound_volume_is_reached_from_some_nodes(
    found: KubernetesObject, feasible: tuple[str, ...]
) -> None:
    assert judge([claim(volume="v"), found]).feasible == feasible


def test_a_volume_that_is_gone_or_far_away_is_named() -> None:
    gone = judge([claim(volume="v")]).nodes[0].rejections
    assert [item.plugin for item in gone] == ["VolumeZone", "VolumeBinding"]
    assert gone[0].reasons == ('persistentvolume "v" not found',)
    assert gone[1].details == ("claim disk is bound to a volume that does not exist",)
    far = judge([claim(volume="v"), volume(terms=on(ZONE, "b"))]).at("a-1")
    assert far is not None
    assert far.rejections[0].reasons == ("node(s) didn't match PersistentVolume's node affinity",)
    wanted = f"it wants {ZONE} in (b) (the node has 'a')"
    assert far.rejections[0].details == (
        f"volume v of claim disk cannot be reached from the node: {wanted}",
    )
    zone = judge([claim(volume="v"), volume(labels={ZONE: "b"})]).at("a-1")
    assert zone is not None
    assert zone.rejections[0].details == (
        f"the volume of claim disk is in {ZONE} b, the node in a",
    )


@pytest.mark.parametrize(
    ("objects", "feasible"),
    [
        ([storage_class()], ("a-1", "b-1", "bare")),
        ([storage_class(provisioner="kubernetes.io/no-provisioner")], ()),
        ([storage_class(allowedTopologies=[{"matchLabelExpressions": [{"key": ZONE,
         "values": ["b"]}]}])], ("b-1",)),
        ([storage_class(provisioner="kubernetes.io/no-provisioner"), volume(terms=on(ZONE, "a"))],
         ("a-1",)),
        ([storage_class(provisioner="kubernetes.io/no-provisioner"),
         volume(capacity={"storage": "5Gi"})], ()),
        ([storage_class(provisioner="kubernetes.io/no-provisioner"),
         volume(claimRef={"namespace": "customapp", "name": "another"})], ()),
        ([storage_class(provisioner="kubernetes.io/no-provisioner"),
         volume(claimRef={"namespace": "customapp", "name": "disk"}, accessModes=[])],
         ("a-1", "b-1", "bare")),
        ([storage_class(provisioner="kubernetes.io/no-provisioner"), volume(volumeMode="Block")],
         ()),
        ([storage_class(provisioner="kubernetes.io/no-provisioner"),
         volume(accessModes=["ReadWriteOnce"])], ()),
    ],
)  # fmt: skip
def test_a_claim_that_waits_for_its_first_pod(
    objects: list[KubernetesObject], feasible: tuple[str, ...]
) -> None:
    assert judge([claim(), *objects]).feasible == feasible


def test_two_claims_do_not_share_one_volume() -> None:
    none = storage_class(provisioner="kubernetes.io/no-provisioner")
    claims = [claim("one"), claim("two"), none]
    assert judge([*claims, volume("v")], user("one", "two")).feasible == ()
    both = judge([*claims, volume("v"), volume("w")], user("one", "two"))
    assert both.feasible == ("a-1", "b-1", "bare")


def test_a_claim_that_is_being_provisioned_for_a_node_holds_the_pod_there() -> None:
    selected = claim(metadata={"annotations": {"volume.kubernetes.io/selected-node": "b-1"}})
    judgement = judge([selected, storage_class()])
    assert judgement.feasible == ("b-1",)
    assert judgement.nodes[0].rejections[0].details == (
        "claim disk is being provisioned for node b-1",
    )


def csi_node(name: str, count: int) -> KubernetesObject:
    drivers = [{"name": "csi.example.com", "allocatable": {"count": count}}]
    return {"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}}


def csi(name: str) -> KubernetesObject:
    return volume(name, csi={"driver": "csi.example.com", "volumeHandle": f"h-{name}"})


def test_a_node_attaches_so_many_volumes_of_a_driver() -> None:
    limits = [csi_node("a-1", 1), csi_node("b-1", 2)]
    claims = [claim("one", "v"), claim("two", "w"), csi("v"), csi("w")]
    assert judge([*limits, *claims], user("one")).feasible == ("a-1", "b-1", "bare")
    full = judge([*limits, *claims], user("one", "two"))
    assert full.feasible == ("b-1", "bare")
    assert full.nodes[0].rejections[0].details == (
        "driver csi.example.com: 0 volumes attached, 2 more, limit 1",
    )
    holder = pod(
        "holder",
        "a-1",
        spec={"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "one"}}]},
    )
    # a volume that is attached there already costs nothing more
    assert "a-1" in judge([*limits, *claims, holder], user("one")).feasible
    assert "a-1" not in judge([*limits, *claims, holder], user("two")).feasible
    attachment = {
        "kind": "VolumeAttachment",
        "metadata": {"name": "x"},
        "spec": {
            "attacher": "csi.example.com",
            "nodeName": "a-1",
            "source": {"persistentVolumeName": "v"},
        },
    }
    assert "a-1" not in judge([*limits, *claims, attachment], user("two")).feasible


@pytest.mark.parametrize(
    ("mine", "theirs", "clash"),
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "d"}}, True),
        ({"gcePersistentDisk": {"pdName": "d"}}, {"gcePersistentDisk": {"pdName": "e"}}, False),
        ({"gcePersistentDisk": {"pdName": "d", "readOnly": True}},
         {"gcePersistentDisk": {"pdName": "d", "readOnly": True}}, False),
        ({"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}},
         {"awsElasticBlockStore": {"volumeID": "d", "readOnly": True}}, True),
        ({"iscsi": {"iqn": "q", "lun": 0}}, {"iscsi": {"iqn": "q", "lun": 1}}, True),
        ({"rbd": {"monitors": ["m", "n"], "image": "i"}},
         {"rbd": {"monitors": ["n"], "pool": "rbd", "image": "i"}}, True),
        ({"rbd": {"monitors": ["m"], "image": "i"}}, {"rbd": {"monitors": ["n"], "image": "i"}},
         False),
    ],
)  # fmt: skip
def test_inline_disks_clash_on_a_node(
    mine: dict[str, Any], theirs: dict[str, Any], clash: bool
) -> None:
    other = pod("other", "a-1", spec={"volumes": [{"name": "d", **theirs}]})
    new = Pod.from_object(pod("new", spec={"volumes": [{"name": "d", **mine}]}))
    judgement = judge([other], new)
    assert judgement.feasible == (("b-1", "bare") if clash else ("a-1", "b-1", "bare"))
    if clash:
        assert judgement.nodes[0].rejections[0].reasons == ("node(s) had no available disk",)


def driver(**spec: bool) -> KubernetesObject:
    name = {"name": "csi.example.com"}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": name, "spec": spec}


def with_driver(*nodes: str) -> list[KubernetesObject]:
    """The CSINodes: these nodes have the driver."""
    listed = [{"name": "csi.example.com", "nodeID": "x"}]
    return [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": item["metadata"]["name"]},
            "spec": {"drivers": listed if item["metadata"]["name"] in nodes else []},
        }
        for item in NODES
    ]


def room(name: str, on_node: str, size: str, **fields: Any) -> KubernetesObject:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": "fast",
        "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": on_node}},
        "capacity": size,
        **fields,
    }


def world_of(version: str, objects: Sequence[KubernetesObject]) -> World:
    return World.of(replace(snapshot(*NODES, *objects), kubernetes_version=version))


BOUND_DISK = [claim(volume="v"), volume(csi={"driver": "csi.example.com", "volumeHandle": "h"})]
NAMES = tuple(item["metadata"]["name"] for item in NODES)


@pytest.mark.parametrize(
    ("version", "prevents", "nodes", "feasible"),
    [
        ("v1.37.2", True, NAMES[:1], NAMES[:1]),
        ("v1.37.2", True, (), ()),
        ("v1.37.2", False, NAMES[:1], NAMES),
        ("v1.36.3", True, NAMES[:1], NAMES),  # the feature gate is off there
    ],
)
@pytest.mark.parametrize("disk", [BOUND_DISK, [claim(), storage_class()]])
def test_from_1_37_on_a_node_without_a_needed_driver_takes_no_volume_of_it(
    version: str,
    prevents: bool,
    nodes: tuple[str, ...],
    feasible: tuple[str, ...],
    disk: list[KubernetesObject],
) -> None:
    needed = driver(preventPodSchedulingIfMissing=prevents)
    world = world_of(version, [*disk, *with_driver(*nodes), needed])
    judgement = world.judge(user())
    assert world.feasible(user()) == judgement.feasible == feasible
    for verdict in judgement.nodes:
        if not verdict.ok:
            assert [item.reasons for item in verdict.rejections] == [
                ("csi.example.com CSI driver is not installed on the node",)
            ]
            assert verdict.resolvable


def test_a_dump_without_csi_nodes_does_not_say_which_node_lacks_a_driver() -> None:
    world = world_of("v1.37.2", [*BOUND_DISK, driver(preventPodSchedulingIfMissing=True)])
    assert world.feasible(user()) == NAMES


@pytest.mark.parametrize(
    ("capacities", "feasible"),
    [
        ([room("a", NAMES[0], "10Gi"), room("b", NAMES[1], "9Gi")], NAMES[:1]),
        # the largest volume counts, where it is published
        (
            [room("a", NAMES[0], "50Gi", maximumVolumeSize="5Gi"), room("b", "b-1", "10Gi")],
            ("b-1",),
        ),
        ([{**room("a", NAMES[0], "50Gi"), "storageClassName": "other"}], ()),
        ([room("a", NAMES[0], "50Gi", nodeTopology=None)], ()),
        ([room("a", "elsewhere", "50Gi", nodeTopology={})], NAMES),
        ([], ()),  # the driver has published none yet
    ],
)
def test_unbound_claims_need_free_storage(
    capacities: list[KubernetesObject], feasible: tuple[str, ...]
) -> None:
    objects = [claim(), storage_class(), driver(storageCapacity=True), *capacities]
    judgement = judge(objects)
    assert judgement.feasible == feasible
    said = {item.reasons for verdict in judgement.nodes for item in verdict.rejections}
    assert said <= {("node(s) did not have enough free storage",)}


def test_capacity_of_a_driver_that_did_not_ask_for_it_does_not_count() -> None:
    small = room("a", NAMES[0], "1Gi")
    assert judge([claim(), storage_class(), driver(storageCapacity=False), small]).feasible == NAMES
    assert judge([claim(), storage_class(), small]).feasible == NAMES


def storage_scores(version: str, objects: Sequence[KubernetesObject]) -> dict[str, int]:
    world = world_of(version, objects)
    kind = "PersistentVolumeClaim"
    asked = user(*(name_of(item).name for item in objects if item["kind"] == kind))
    feasible = world.feasible(asked)
    found = world.scores(asked, feasible)
    plain = sum(item.total for item in found)
    numbers = np.array([world.state.columns.index[name] for name in feasible], dtype=np.int64)
    assert int(world.totals(asked, numbers).sum()) == plain
    return {item.node: item.scores.get("VolumeBinding", 0) for item in found}


def test_from_1_37_on_nodes_with_more_storage_left_score_higher() -> None:
    rooms = [room("a", NAMES[0], "40Gi"), room("b", NAMES[1], "10Gi")]
    objects = [claim(), storage_class(), driver(storageCapacity=True), *rooms]
    assert storage_scores("v1.37.2", objects) == {NAMES[0]: 75, NAMES[1]: 0}
    assert storage_scores("v1.36.3", objects) == {NAMES[0]: 0, NAMES[1]: 0}


def test_two_claims_of_a_class_share_its_capacity() -> None:
    two = [claim("disk"), claim("other")]
    rooms = [room("a", NAMES[0], "100Gi"), room("b", NAMES[1], "15Gi")]
    objects = [*two, storage_class(), driver(storageCapacity=True), *rooms]
    assert storage_scores("v1.37.2", objects) == {NAMES[0]: 80, NAMES[1]: 0}


def test_matched_volumes_score_by_the_share_that_the_claims_leave() -> None:
    volumes = [
        volume("small", terms=on("kubernetes.io/hostname", NAMES[0]), capacity={"storage": "10Gi"}),
        volume("large", terms=on("kubernetes.io/hostname", NAMES[1]), capacity={"storage": "40Gi"}),
    ]
    none = storage_class(provisioner="kubernetes.io/no-provisioner")
    assert storage_scores("v1.37.2", [claim(), none, *volumes]) == {NAMES[0]: 0, NAMES[1]: 75}


def test_a_snapshot_keeps_what_decides_about_storage() -> None:
    given = [driver(storageCapacity=True, preventPodSchedulingIfMissing=True)]
    given.append(room("a", "a-1", "9Gi", maximumVolumeSize="5Gi"))
    found = from_objects("prod", given, 0, checked=True)
    assert found.of("CSIDriver")[0]["spec"] == given[0]["spec"]
    kept = found.of("CSIStorageCapacity")[0]
    for field in ("capacity", "maximumVolumeSize", "nodeTopology", "storageClassName"):
        assert kept[field] == given[1][field]
