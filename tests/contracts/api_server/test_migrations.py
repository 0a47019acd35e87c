"""KubeVirt's migrations: admission, phases, limits, time-outs, cancellation, what is kept."""

from typing import Any

import pytest

from gitbot.kubernetes.objects import at, labels_of
from gitbot.simulation.building import ZONE
from tests.contracts.api_server.faces import JSON_PATCH
from tests.contracts.api_server.kubevirt_face import (
    FINAL,
    GROUP,
    HOSTNAME,
    INSTANCES,
    MACHINES,
    MIGRATIONS,
    NODES,
    KubeVirtFace,
)

NOWHERE = {HOSTNAME: "nowhere"}
SOON = {"kubevirt.io/migrationUnschedulablePodTimeoutSeconds": "1"}
PHASES = [
    "Pending", "Scheduling", "Scheduled", "PreparingTarget", "TargetReady", "Running", "Succeeded",
]  # fmt: skip
LONG = 600  # seconds of a copy that does not end in a test


@pytest.fixture
def kube(kubevirt_face: KubeVirtFace) -> KubeVirtFace:
    """VM `one` runs."""
    kubevirt_face.start("one")
    return kubevirt_face


def _active(kube: KubeVirtFace) -> list[str]:
    """The VMIs that are being moved."""
    waiting = ("", "Pending", *FINAL)
    return [
        each["spec"]["vmiName"]
        for each in kube.migrations()
        if at(each, "status", "phase", default="") not in waiting
    ]


def test_phases_come_in_order_and_no_spec_changes(kube: KubeVirtFace) -> None:
    before = [kube.face.get(kind, "one", GROUP)["spec"] for kind in (MACHINES, INSTANCES)]
    source, target = kube.node_of("one"), kube.elsewhere("one")
    made = kube.migrate("one", "m", selector={HOSTNAME: target}, fieldValidation="Strict")
    assert made["metadata"]["labels"] == {"kubevirt.io/vmi-name": "one"}
    assert made["metadata"]["finalizers"] == ["kubevirt.io/migrationJobFinalize"]
    assert kube.ends("m") == "Succeeded"
    kube.eventually(lambda: at(kube.migration("m"), "status", "migrationState", "completed"))
    done = kube.migration("m")
    stamps = at(done, "status", "phaseTransitionTimestamps")
    assert [stamp["phase"] for stamp in stamps] == PHASES
    state = at(done, "status", "migrationState")
    assert (state["sourceNode"], state["targetNode"]) == (source, target)
    assert state["completed"] is True
    kube.eventually(lambda: "finalizers" not in kube.migration("m")["metadata"])
    assert kube.node_of("one") == target
    after = [kube.face.get(kind, "one", GROUP)["spec"] for kind in (MACHINES, INSTANCES)]
    assert after == before


def test_the_source_pod_ends_and_the_hand_off_label_goes(kube: KubeVirtFace) -> None:
    source, target = kube.node_of("one"), kube.elsewhere("one")
    kube.migrate("one", "m", selector={HOSTNAME: target})
    kube.ends("m")

    def settled() -> bool:
        pods = kube.pods_of("one")
        phases = {pod["spec"]["nodeName"]: pod["status"]["phase"] for pod in pods}
        labels = labels_of(kube.instance("one"))
        return (
            phases == {source: "Succeeded", target: "Running"}
            and labels["kubevirt.io/nodeName"] == target
            and "kubevirt.io/migrationTargetNodeName" not in labels
        )

    kube.eventually(settled)


def _spec(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "m"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("body", "strict", "code", "says"),
    [
        (_spec(vmiName="nobody"), "Strict", 400, "does not exist"),
        (_spec(), "Strict", 422, "vmiName is missing"),
        (_spec(vmiName="one", priority="user-triggered"), "Strict", 422,
         "Migration priority queue, only virt-controller is allowed to set priority field"),
        (_spec(vmiName="one", nodeSelector={}), "Strict", 400,
         'strict decoding error: unknown field "spec.nodeSelector"'),
        (_spec(vmiName="one", addedNodeSelector={HOSTNAME: 1}), "Warn", 422,
         "spec.addedNodeSelector."),
        (_spec(vmiName=1), "Warn", 422, "spec.vmiName"),
    ],
)  # fmt: skip
def test_migrations_that_are_refused(
    kube: KubeVirtFace, body: Any, strict: str, code: int, says: str
) -> None:
    path = kube.face.path(MIGRATIONS, group=GROUP)
    found = kube.face.answer("POST", path, body, query={"fieldValidation": strict})
    assert (found.code, says in found.body["message"]) == (code, True), found.body["message"]
    assert kube.migrations() == []


def test_a_second_migration_in_flight_is_refused(kube: KubeVirtFace) -> None:
    kube.migrate("one", "first", selector=NOWHERE)
    code, _, message = kube.face.refusal(lambda: kube.migrate("one", "second"))
    assert code == 400
    assert "in-flight migration detected" in message
    code, _, message = kube.face.refusal(lambda: kube.migrate("one", "second", dryRun="All"))
    assert (code, "in-flight migration detected" in message) == (400, True)


def test_the_spec_of_a_migration_is_not_changed(kube: KubeVirtFace) -> None:
    kube.migrate("one", "m", selector=NOWHERE)
    path = kube.face.path(MIGRATIONS, "m", group=GROUP)
    code, _, message = kube.face.refusal(
        lambda: kube.face.patch(path, {"spec": {"addedNodeSelector": {HOSTNAME: "w1"}}})
    )
    assert code == 422
    assert "update of Migration object's spec is restricted" in message
    removal = [{"op": "remove", "path": "/metadata/labels/kubevirt.io~1vmi-name"}]
    code, _, message = kube.face.refusal(lambda: kube.face.patch(path, removal, JSON_PATCH))
    assert code == 422
    assert "in-flight migration" in message
    kube.face.patch(path, {"metadata": {"annotations": {"placement.gitbot.dev/move": "1"}}})


def test_the_spec_of_a_vmi_is_not_changed(kube: KubeVirtFace) -> None:
    path = kube.face.path(INSTANCES, "one", group=GROUP)
    code, _, message = kube.face.refusal(
        lambda: kube.face.patch(path, {"spec": {"nodeSelector": {HOSTNAME: "w1"}}})
    )
    assert code == 422
    assert "update of VMI object is restricted" in message


def test_custom_resources_take_no_strategic_patch(kube: KubeVirtFace) -> None:
    path = kube.face.path(INSTANCES, "one", group=GROUP)
    found = kube.face.answer(
        "PATCH", path, {"metadata": {}}, content_type="application/strategic-merge-patch+json"
    )
    assert (found.code, found.body["reason"]) == (415, "UnsupportedMediaType")


def test_an_unknown_field_of_a_patch(kube: KubeVirtFace) -> None:
    path = kube.face.path(MACHINES, "one", group=GROUP)
    wrong = {"spec": {"runStrategyy": "Halted"}}
    code, reason, message = kube.face.refusal(
        lambda: kube.face.patch(path, wrong, fieldValidation="Strict")
    )
    assert (code, reason) == (422, "Invalid")
    assert 'strict decoding error: unknown field "spec.runStrategyy"' in message


def test_only_two_leave_a_node_at_once(kubevirt_face: KubeVirtFace) -> None:
    kube = kubevirt_face
    kube.set_dials(copy_minimum=LONG)
    names = ["v1", "v2", "v3"]
    _cordon(kube, "w2", "w3", "w4", unschedulable=True)
    kube.start(*names)
    _cordon(kube, "w2", "w3", "w4", unschedulable=None)
    for name in names:
        kube.migrate(name, name)
    kube.eventually(lambda: [kube.phase(name) for name in names].count("Running") == 2)
    kube.eventually(lambda: [kube.phase(name) for name in names].count("Pending") == 1)
    assert len(_active(kube)) == 2


def _cordon(kube: KubeVirtFace, *nodes: str, unschedulable: bool | None) -> None:
    for name in nodes:
        patch = {"spec": {"unschedulable": unschedulable}}
        kube.face.patch(kube.face.path("nodes", name), patch)


def test_only_five_move_at_once_in_the_cluster(kubevirt_face: KubeVirtFace) -> None:
    kube = kubevirt_face
    kube.set_dials(copy_minimum=LONG)
    names = [f"v{index}" for index in range(8)]
    kube.start(*names)
    homes = [kube.node_of(name) for name in names]
    assert {homes.count(name) for name in NODES} == {2}
    for name in names:
        kube.migrate(name, name)
    kube.eventually(lambda: [kube.phase(name) for name in names].count("Running") == 5)
    kube.eventually(lambda: [kube.phase(name) for name in names].count("Pending") == 3)
    leaving = [homes[names.index(vmi)] for vmi in _active(kube)]
    assert max(leaving.count(name) for name in NODES) <= 2
    done = _active(kube)[0]
    kube.cancel(done)
    kube.eventually(lambda: len(_active(kube)) == 5 and done not in _active(kube))


def test_an_unschedulable_target_is_given_up_in_the_annotated_time(kube: KubeVirtFace) -> None:
    source = kube.node_of("one")
    kube.migrate("one", "m", selector=NOWHERE, annotations=SOON)
    assert kube.ends("m") == "Failed"
    assert kube.node_of("one") == source
    kube.eventually(lambda: len(kube.pods_of("one")) == 1)
    assert kube.runs("one")


def test_cancelled_before_the_hand_off(kube: KubeVirtFace) -> None:
    source = kube.node_of("one")
    kube.migrate("one", "m", selector=NOWHERE)
    kube.is_at("m", "Scheduling")
    kube.cancel("m")
    kube.is_gone("m")
    assert kube.node_of("one") == source
    kube.migrate("one", "again", selector={HOSTNAME: kube.elsewhere("one")})
    assert kube.ends("again") == "Succeeded"


def test_cancelled_after_the_hand_off(kube: KubeVirtFace) -> None:
    source = kube.node_of("one")
    kube.set_dials(copy_minimum=LONG)
    kube.migrate("one", "m", selector={HOSTNAME: kube.elsewhere("one")})
    kube.is_at("m", "Running")
    kube.cancel("m")
    kube.is_gone("m")
    assert kube.node_of("one") == source
    state = at(kube.instance("one"), "status", "migrationState")
    assert (state["failed"], state["abortStatus"]) == (True, "Succeeded")
    assert kube.runs("one")


def test_all_but_five_finished_migrations_are_forgotten(kube: KubeVirtFace) -> None:
    for index in range(7):
        kube.migrate("one", f"m{index}")
        kube.ends(f"m{index}")
        kube.eventually(
            lambda: sum(pod["status"]["phase"] == "Running" for pod in kube.pods_of("one")) == 1
        )
    kube.eventually(lambda: len(kube.migrations()) == 5)
    kept = {each["metadata"]["name"] for each in kube.migrations()}
    assert {"m5", "m6"} <= kept


def test_migrations_go_with_their_vmi(kube: KubeVirtFace) -> None:
    kube.migrate("one", "done")
    kube.ends("done")
    path = kube.face.path(MACHINES, "one", group=GROUP)
    kube.face.connection.request("DELETE", path)
    kube.is_gone("done")
    kube.eventually(
        lambda: kube.face.answer("GET", kube.face.path(INSTANCES, "one", group=GROUP)).code == 404
    )


def test_a_selector_that_the_vm_has_already_loses_silently(kubevirt_face: KubeVirtFace) -> None:
    kube = kubevirt_face
    kube.start("pinned", nodeSelector={ZONE: "a"})
    source = kube.node_of("pinned")
    made = kube.migrate("pinned", "m", selector={ZONE: "b"})
    assert made["spec"]["addedNodeSelector"] == {ZONE: "b"}
    assert kube.ends("m") == "Succeeded"
    assert (source, kube.node_of("pinned")) in {("w1", "w2"), ("w2", "w1")}


def test_before_1_6_the_selector_is_pruned(kube: KubeVirtFace) -> None:
    kube.before_1_6()
    target = {HOSTNAME: kube.elsewhere("one")}

    def refused() -> bool:
        code, _, message = kube.face.refusal(
            lambda: kube.migrate(
                "one", "m", selector=target, fieldValidation="Strict", dryRun="All"
            )
        )
        return code == 400 and 'unknown field "spec.addedNodeSelector"' in message

    kube.eventually(refused)
    made = kube.migrate("one", "m", selector=target)
    assert made["spec"] == {"vmiName": "one"}


def test_an_eviction_of_a_launcher_pod_starts_a_migration(kube: KubeVirtFace) -> None:
    source = kube.node_of("one")
    (pod,) = kube.pods_of("one")
    name = pod["metadata"]["name"]
    path = kube.face.path("pods", name, "eviction")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    found = kube.face.answer("POST", path, eviction)
    assert (found.code, found.body.get("reason")) == (429, None)
    assert (
        f'Eviction triggered evacuation of VMI "{kube.face.namespace}/one"' in found.body["message"]
    )
    kube.eventually(lambda: kube.node_of("one") not in ("", source))
    (migration,) = kube.migrations()
    assert migration["metadata"]["name"].startswith("kubevirt-evacuation-")
    assert migration["metadata"]["annotations"]["kubevirt.io/evacuationMigration"] == source
    assert migration["spec"]["priority"] == "system-critical"


def test_an_eviction_that_is_tried_leaves_no_mark(kube: KubeVirtFace) -> None:
    (pod,) = kube.pods_of("one")
    name = pod["metadata"]["name"]
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name},
        "deleteOptions": {"dryRun": ["All"]},
    }
    path = kube.face.path("pods", name, "eviction")
    assert kube.face.answer("POST", path, eviction).code == 429
    bare = {**eviction, "deleteOptions": {}}
    assert kube.face.answer("POST", path, bare, query={"dryRun": "All"}).code == 429
    assert "evacuationNodeName" not in kube.instance("one")["status"]
