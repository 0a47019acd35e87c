"""The admission policy that `gitbot render` prints for a rule, in force in the real API server."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.kubevirt import names
from gitbot.simulation.building import ZONE
from tests.controlplane.desk import Desk
from tests.controlplane.kubevirt.installation import put
from tests.controlplane.plane import ControlPlane
from tests.controlplane.vms import VM, Vms
from tests.controlplane.waiting import eventually

pytestmark = pytest.mark.controlplane

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TIER = {"tier": "quorum"}
RULE = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: ZoneAntiAffinity
metadata: {name: quorum, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {tier: quorum}}
  admission: Render
"""


@pytest.fixture
def policy(
    vms: Vms, gitbot_kubeconfig: Path, plane: ControlPlane, tmp_path: Path
) -> Iterator[KubernetesObject]:
    """What gitbot renders for the rule, installed and in force."""
    desk = Desk(tmp_path / "desk", kubeconfig=gitbot_kubeconfig, cluster=plane.context)
    desk.push({"rule.yaml": RULE.replace("NAMESPACE", vms.namespace)})
    rendered = list(yaml.safe_load_all(desk.gitbot("render")))
    for obj in rendered:
        put(vms.api, obj)
    eventually(lambda: terms_of(dry_run(vms, {})))
    yield rendered[0]
    for obj in rendered:
        plural = (
            "mutatingadmissionpolicies" if obj is rendered[0] else "mutatingadmissionpolicybindings"
        )
        path = f"/apis/admissionregistration.k8s.io/v1/{plural}/{obj['metadata']['name']}"
        vms.api.request("DELETE", path)


def dry_run(vms: Vms, affinity: Mapping[str, Any]) -> KubernetesObject:
    """A launcher pod as the API server would store it."""
    pod = {
        "metadata": {
            "name": "probe",
            "labels": {**TIER, names.APP: "virt-launcher", names.CREATED_BY: "some-uid"},
        },
        "spec": {
            "containers": [{"name": "compute", "image": "launcher:1"}],
            **({"affinity": affinity} if affinity else {}),
        },
    }
    path = f"/api/v1/namespaces/{vms.namespace}/pods"
    return vms.api.request("POST", path, pod, query={"dryRun": "All"})


def terms_of(pod: KubernetesObject) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = at(
        pod, "spec", "affinity", "podAntiAffinity", REQUIRED, default=[]
    )
    return found


def cordon(vms: Vms, *nodes: str, open_again: bool = False) -> None:
    body = {"spec": {"unschedulable": None if open_again else True}}
    for name in nodes:
        path = f"/api/v1/nodes/{name}"
        vms.api.request("PATCH", path, body, content_type="application/merge-patch+json")


def unschedulable(vms: Vms, name: str) -> str:
    """What the scheduler says of the pod of a VM that waits."""
    for pod in vms.pods(name):
        for condition in at(pod, "status", "conditions", default=[]):
            if condition.get("reason") == "Unschedulable":
                return str(condition["message"])
    return ""


@pytest.mark.usefixtures("policy")
def test_vms_without_any_affinity_are_kept_apart(vms: Vms) -> None:
    cordon(vms, "w3")
    first = vms.start("one", TIER)
    assert first in ("w1", "w2")
    vms.create("two", TIER)
    assert "didn't match pod anti-affinity rules" in eventually(lambda: unschedulable(vms, "two"))
    vms.start("other", {"tier": "web"})  # nothing but the rule's VMs is touched
    cordon(vms, "w3", open_again=True)
    assert vms.runs("two") == "w3"

    beside = "w2" if first == "w1" else "w1"
    vms.migrate("one", "inside", to=beside)  # its own pod does not stand in its way
    assert vms.ends("inside") == "Succeeded"
    assert vms.node("one") == beside
    impatient = {names.UNSCHEDULABLE_TIMEOUT: "1"}
    vms.migrate("one", "outside", to="w3", annotations=impatient)
    assert vms.ends("outside") == "Failed"
    assert vms.node("one") == beside
    for name in ("one", "two"):
        vm = vms.get(VM, name)
        assert vm["metadata"]["generation"] == 1
        assert "affinity" not in vm["spec"]["template"]["spec"]


OTHER = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}


PLACES: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "no affinity": ({}, 0),
    "affinity to nodes": ({"nodeAffinity": {PREFERRED: []}}, 0),
    "wishes": ({"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": OTHER}]}}, 0),
    "an empty list": ({"podAntiAffinity": {REQUIRED: []}}, 0),
    "another term": ({"podAntiAffinity": {REQUIRED: [OTHER]}}, 1),
}


@pytest.mark.usefixtures("policy")
def test_the_term_is_added_once_wherever_its_place_is(vms: Vms) -> None:
    own = {"key": names.CREATED_BY, "operator": "NotIn", "values": ["some-uid"]}
    for place, (affinity, others) in PLACES.items():
        added = terms_of(dry_run(vms, affinity))[others:]
        assert [term["topologyKey"] for term in added] == [ZONE], place
        assert added[0]["mismatchLabelKeys"] == [names.CREATED_BY], place
        # what the API server makes of the key
        assert own in added[0]["labelSelector"]["matchExpressions"], place


def test_a_pod_that_has_the_term_gets_no_second_one(vms: Vms, policy: KubernetesObject) -> None:
    (variable,) = policy["spec"]["variables"]
    term = {
        "topologyKey": ZONE,
        "mismatchLabelKeys": [names.CREATED_BY],
        "labelSelector": {
            "matchLabels": TIER,
            "matchExpressions": [{"key": names.APP, "operator": "In", "values": ["virt-launcher"]}],
        },
    }
    assert '"topologyKey": dyn' in variable["expression"]
    affinity = {"podAntiAffinity": {REQUIRED: [OTHER, term]}}
    assert [item["topologyKey"] for item in terms_of(dry_run(vms, affinity))] == [
        "kubernetes.io/hostname",
        ZONE,
    ]
