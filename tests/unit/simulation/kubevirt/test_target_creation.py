"""Where no target pod comes: before the API server is asked, and where it refuses."""

from typing import Any

import pytest

from gitbot.kubernetes.objects import at
from gitbot.kubevirt.target_pod import why_no_target
from gitbot.simulation.kubevirt.migration_scene import MigrationScene
from gitbot.simulation.kubevirt.reconcile_result import Create, RecordEvent, Update
from gitbot.simulation.kubevirt.target_creation import create_target
from tests.unit.kubevirt.objects import KUBEVIRT, Object, migration, node, vmi
from tests.unit.simulation.kubevirt.cluster import Cluster

NO_IMAGE_VOLUME: Object = {
    "spec": {"configuration": {"developerConfiguration": {"disabledFeatureGates": ["ImageVolume"]}}}
}
UNMATCHED: Object = {
    "spec": {"configuration": {"migrations": {"matchSELinuxLevelOnMigration": False}}}
}


NO_DIGEST = (
    "failed to render launch manifest: can not proceed with the migration when no reproducible "
    'image digest can be detected: failed to identify image digest for container "fedora" with id '
    '"fedora"'
)


def with_disk() -> Object:
    made = vmi()
    made["spec"]["volumes"] = [{"name": "root", "containerDisk": {"image": "fedora"}}]
    return made


def labelled(**labels: str) -> Object:
    made = vmi()
    made["metadata"]["labels"] = labels
    return made


def pod_with(image: str | None) -> Object:
    status = {"name": "volumeroot"} | ({} if image is None else {"imageID": image})
    return {"status": {"containerStatuses": [status]}}


@pytest.mark.parametrize(
    ("obj", "kubevirt", "pod", "reason"),
    [
        (vmi(), KUBEVIRT, None, ""),
        (vmi(selinuxContext=""), KUBEVIRT, None, "SELinux context not set on VMI status"),
        (vmi(selinuxContext=""), UNMATCHED, None, ""),
        (labelled(logVerbosity="7"), KUBEVIRT, None, ""),
        (labelled(logVerbosity="much"), KUBEVIRT, None,
         ("failed to render launch manifest: verbosity much cannot cast to int: "
          'strconv.Atoi: parsing "much": invalid syntax')),
        (with_disk(), KUBEVIRT, pod_with("fedora"), NO_DIGEST),
        (with_disk(), NO_IMAGE_VOLUME, pod_with("fedora@sha256:1"), ""),
        (with_disk(), NO_IMAGE_VOLUME, pod_with(None), ""),  # a snapshot does not keep it
        (with_disk(), NO_IMAGE_VOLUME, {"status": {}}, ""),
        (with_disk(), NO_IMAGE_VOLUME, pod_with("fedora"), NO_DIGEST),
    ],
)  # fmt: skip
def test_reasons_that_only_the_controllers_log_tells(
    obj: Object, kubevirt: Object, pod: Object | None, reason: str
) -> None:
    assert why_no_target(obj, kubevirt, node(), pod) == reason


def refusal(message: str, conditions: list[Object]) -> list[Any]:
    waiting = migration("m1")
    waiting["status"]["conditions"] = conditions
    view = Cluster({"configuration": {}}, namespace="shop")
    view.add(node())
    scene = MigrationScene(view=view, migration=waiting, vmi=vmi(), target=None, now=0)
    (create,) = create_target(scene, scene.vmi).writes
    assert isinstance(create, Create)
    assert create.refused is not None
    return list(create.refused(message).writes)


def test_a_refusal_is_an_event_on_the_vmi_and_nothing_on_the_migration() -> None:
    (event,) = refusal("pods is invalid: spec.nodeSelector", [])
    assert isinstance(event, RecordEvent)
    assert (event.type, event.reason) == ("Warning", "FailedCreate")
    assert event.object["kind"] == "VirtualMachineInstance"
    assert event.message == "Error creating pod: pods is invalid: spec.nodeSelector"


def test_pod_security_is_told_in_other_words() -> None:
    (event,) = refusal('violates PodSecurity "restricted:latest"', [])
    assert event.message == (
        "failed to render launch manifest: failed to create target pod for vmi shop/db-1, "
        'it needs a privileged namespace to run: violates PodSecurity "restricted:latest"'
    )


def test_a_full_quota_becomes_a_condition_once() -> None:
    event, update = refusal("exceeded quota: q", [])
    assert isinstance(event, RecordEvent)
    assert isinstance(update, Update)
    assert update.subresource == "status"
    (held,) = at(update.object, "status", "conditions")
    assert (held["type"], held["status"]) == ("migrationRejectedByResourceQuota", "True")
    assert len(refusal("exceeded quota: q", [held])) == 1
