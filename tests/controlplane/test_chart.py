"""The Helm chart: the real helm renders, checks, installs, upgrades and removes it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.controlplane import build
from tests.controlplane.test_deploy import DEPLOY, KUBECTL, kubectl

if TYPE_CHECKING:
    from tests.controlplane.plane import ControlPlane

pytestmark = pytest.mark.controlplane
CHART = DEPLOY / "chart"
CONFIGURATION = f"configuration={DEPLOY / 'watch' / 'gitbot.yaml'}"
COMPONENTS = {
    "rbac.cordon": "rbac/optional-cordon",
    "rbac.events": "rbac/optional-events",
    "rbac.ledgerAnchor": "rbac/optional-ledger-anchor",
    "rbac.load": "rbac/optional-load",
    "rbac.vmGuard": "rbac/optional-vm-guard",
    "monitoring.enabled": "monitoring",
}
CLUSTER_WIDE = (
    "clusterroles,clusterrolebindings,priorityclasses,"
    "validatingadmissionpolicies,validatingadmissionpolicybindings"
)
NAMESPACED = (
    "deployments,replicasets,pods,networkpolicies,serviceaccounts,roles,rolebindings,configmaps,"
    "secrets"
)
Objects = Mapping[tuple[str, str], dict[str, Any]]


class Helm:
    def __init__(self, folder: Path) -> None:
        self._program = build.build(["helm"])["helm"]
        self._home = {f"HELM_{kind}_HOME": str(folder / kind) for kind in ("CACHE", "CONFIG")}

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self._program), *words],
            env={**os.environ, **self._home},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def template(self, *values: str) -> subprocess.CompletedProcess[str]:
        place = ("gitbot", str(CHART), "--kube-version", "1.36")
        return self("template", *place, *values)


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    return Helm(tmp_path / "helm")


def by_name(text: str) -> Objects:
    found = [item for item in yaml.safe_load_all(text) if item]
    return {(item["kind"], item["metadata"]["name"]): item for item in found}


def rendered(helm: Helm, *values: str) -> Objects:
    done = helm.template("-n", "gitbot", "--set-file", CONFIGURATION, *values)
    assert done.returncode == 0, done.stderr
    return by_name(done.stdout)


def kustomized(folder: Path, components: list[str]) -> Objects:
    """deploy/ with components, the ConfigMap without the digest that kustomize adds to its name."""
    text = f"resources: [{DEPLOY}]\n"
    if components:
        text += f"components: [{', '.join(str(DEPLOY / name) for name in components)}]\n"
    folder.mkdir()
    relative = text.replace(str(DEPLOY), os.path.relpath(DEPLOY, folder.resolve()))
    (folder / "kustomization.yaml").write_text(relative)
    done = subprocess.run(
        [str(KUBECTL), "kustomize", "--load-restrictor=LoadRestrictionsNone", str(folder)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    name = next(key[1] for key in by_name(done.stdout) if key[0] == "ConfigMap")
    return by_name(done.stdout.replace(name, "gitbot"))


@pytest.mark.parametrize("wanted", [[], ["rbac.ledgerAnchor"], list(COMPONENTS)])
def test_the_chart_makes_the_objects_of_the_base(
    helm: Helm, tmp_path: Path, wanted: list[str]
) -> None:
    flags = ",".join(f"{name}={'true' if name in wanted else 'false'}" for name in COMPONENTS)
    found = dict(rendered(helm, "--set", flags))
    base = dict(kustomized(tmp_path / "mine", [COMPONENTS[name] for name in wanted]))
    del base["Namespace", "gitbot"]  # helm makes it
    template = found["Deployment", "gitbot"]["spec"]["template"]
    assert list(template["metadata"].pop("annotations")) == ["checksum/configuration"]
    assert found == base


def test_with_a_schedule_the_chart_makes_the_cron_job_of_the_component(
    helm: Helm, tmp_path: Path
) -> None:
    found = dict(rendered(helm, "--set", "schedule=*/15 * * * *,rbac.events=false"))
    base = dict(kustomized(tmp_path / "mine", ["cron", COMPONENTS["rbac.ledgerAnchor"]]))
    del base["Namespace", "gitbot"]
    job = found["CronJob", "gitbot"]["spec"]["jobTemplate"]["spec"]
    assert list(job["template"]["metadata"].pop("annotations")) == ["checksum/configuration"]
    assert found == base
    assert ("Deployment", "gitbot") not in found
    both = helm.template(
        "--set-file", CONFIGURATION, "--set", "schedule=@hourly,monitoring.enabled=true"
    )
    assert (both.returncode != 0, "leave out schedule" in both.stderr) == (True, True)


def test_a_new_configuration_replaces_the_pod(helm: Helm) -> None:
    other = ("--set-file", f"configuration={CHART / 'values.yaml'}")
    first, second = (rendered(helm, *more)["Deployment", "gitbot"] for more in ((), other))
    assert first["spec"]["template"] != second["spec"]["template"]


def test_values_reach_the_pod(helm: Helm) -> None:
    values = {
        "image.repository": "images.example.org/gitbot",
        "image.tag": "1.2.3",
        "image.pullSecrets[0]": "registry",
        "cluster": "prod",
        "every": "60",
        "github.secret": "app",
        "extraArgs[0]": "--no-follow",
        "resources.limits.memory": "1Gi",
        "tolerations[0].operator": "Exists",
        "nodeSelector.infra": "yes",
        "priorityClass": "false",
        "networkPolicy": "false",
    }
    found = rendered(helm, "--set", ",".join(f"{key}={text}" for key, text in values.items()))
    pod = found["Deployment", "gitbot"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert container["image"] == "images.example.org/gitbot:1.2.3"
    assert container["args"][2:] == [
        "--every=60",
        "--health-file=/tmp/health",
        "--cluster=prod",
        "--no-follow",
    ]
    assert container["resources"] == {"limits": {"memory": "1Gi"}}
    assert container["env"][1]["valueFrom"]["secretKeyRef"] == {"name": "app", "key": "app-id"}
    assert pod["volumes"][2]["secret"]["secretName"] == "app"
    assert pod["imagePullSecrets"] == [{"name": "registry"}]
    assert (pod["tolerations"], pod["nodeSelector"]) == ([{"operator": "Exists"}], {"infra": "yes"})
    assert "priorityClassName" not in pod
    assert not {"PriorityClass", "NetworkPolicy"} & {kind for kind, _ in found}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (("-n", "gitbot"), "/configuration"),
        (("-n", "gitbot", "--set", "configuration=x,rbac.cordons=true"), "cordons"),
        (("-n", "gitbot", "--set", "configuration=x,every=1"), "/every"),
        (("-n", "vms", "--set", "configuration=x"), "install into namespace gitbot, not vms"),
    ],
)
def test_wrong_values_are_refused(helm: Helm, values: tuple[str, ...], words: str) -> None:
    done = helm.template(*values)
    assert done.returncode != 0
    assert words in done.stderr


def test_helm_finds_nothing_to_say(helm: Helm) -> None:
    done = helm("lint", "--strict", "-n", "gitbot", "--set-file", CONFIGURATION, str(CHART))
    assert done.returncode == 0, done.stdout + done.stderr


def of_gitbot(plane: ControlPlane) -> set[str]:
    """Objects in namespace gitbot that not every namespace has, and others with gitbot's name."""
    inside = kubectl(plane, "get", NAMESPACED, "-n", "gitbot", "-o", "name", "--ignore-not-found")
    outside = kubectl(plane, "get", CLUSTER_WIDE, "-o", "name")
    own = {"configmap/kube-root-ca.crt", "serviceaccount/default", "No"}
    found = {line for line in inside.splitlines() if line and line.partition(" ")[0] not in own}
    return found | {line for line in outside.splitlines() if "/gitbot" in line}


def test_it_is_installed_upgraded_and_removed_without_a_trace(
    own: ControlPlane, helm: Helm
) -> None:
    where = ("--kubeconfig", str(own.kubeconfig()), "-n", "gitbot")
    flags = ",".join(f"{name}=true" for name in COMPONENTS if name != "monitoring.enabled")
    values = ("--set-file", CONFIGURATION, "--set", flags)
    done = helm("install", "gitbot", str(CHART), *where, "--create-namespace", *values)
    assert done.returncode == 0, done.stderr
    assert {"deployment.apps/gitbot", "clusterrole.rbac.authorization.k8s.io/gitbot-cordon"} <= (
        of_gitbot(own)
    )
    done = helm("upgrade", "gitbot", str(CHART), *where, *values, "--set", "every=60")
    assert done.returncode == 0, done.stderr
    assert "--every=60" in kubectl(own, "get", "deployment/gitbot", "-n", "gitbot", "-o", "yaml")
    done = helm("uninstall", "gitbot", *where, "--wait")
    assert done.returncode == 0, done.stderr
    assert of_gitbot(own) == set()


def test_it_takes_over_what_kustomize_installed(own: ControlPlane, helm: Helm) -> None:
    kubectl(own, "apply", "-f", str(DEPLOY / "rbac" / "10-namespace.yaml"))
    kubectl(own, "apply", "-k", str(DEPLOY))
    where = ("--kubeconfig", str(own.kubeconfig()), "-n", "gitbot")
    values = ("--set-file", CONFIGURATION, "--take-ownership")
    done = helm("upgrade", "--install", "gitbot", str(CHART), *where, *values)
    assert done.returncode == 0, done.stderr
    assert helm("uninstall", "gitbot", *where, "--wait").returncode == 0
    left = of_gitbot(own)
    assert {line.partition("-")[0] for line in left} == {"configmap/gitbot"}  # that with a digest
