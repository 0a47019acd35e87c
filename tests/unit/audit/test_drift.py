"""Who keeps a VM that differs from Git, by the marks of Argo CD and Flux."""

import pytest

from gitbot.audit.drift import drifted
from gitbot.constraints.moves.instances import Instances
from gitbot.kubernetes.objects import KubernetesObject, with_value
from gitbot.snapshot import from_objects
from tests.doubles.problems import node, vm
from tests.scenarios.small_clusters import flat, kubevirt, machine

TRACKING = "argocd.argoproj.io/tracking-id"


@pytest.mark.parametrize(
    ("labels", "annotations", "keeper"),
    [
        ({}, {}, ""),
        ({"kustomize.toolkit.fluxcd.io/name": "shop"}, {}, "Flux (Kustomization shop) keeps it"),
        ({"helm.toolkit.fluxcd.io/name": "shop"}, {}, "Flux (HelmRelease shop) keeps it"),
        ({}, {TRACKING: "shop:kubevirt.io/VirtualMachine:a/b"}, "Argo CD (application shop) keeps"),
        ({"argocd.argoproj.io/instance": "shop"}, {}, "Argo CD (application shop) keeps it"),
        ({"app.kubernetes.io/instance": "shop"}, {}, ""),  # Helm sets it too, and people do
    ],
)
def test_keeper(labels: dict[str, str], annotations: dict[str, str], keeper: str) -> None:
    live: KubernetesObject = machine("web", labels=labels, nodeSelector={"disk": "ssd"})
    live = with_value(live, annotations, "metadata", "annotations")
    objects = flat([kubevirt(), node("n-1"), vm("web", on="n-1"), live])
    snapshot = from_objects("test", tuple(objects), 0)
    manifest = machine("web", nodeSelector={"disk": "hdd"})
    (found,) = drifted(Instances.of(snapshot), [("vms/web.yaml", manifest)])
    assert found.finding.hint.startswith(keeper or "apply the manifest")
