"""The Deployment, the image and the rulesets say what gitbot needs, and no more."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gitbot.cli.commands.reconcile import reconcile
from gitbot.documents import read_kubernetes_yaml
from gitbot.rendering.migration import PREFIX
from gitbot.settings import not_at_hand, read_settings
from gitbot.workflows.approval.read_approvals import concern_branch
from gitbot.workflows.core.published_snapshots import snapshot_branch

DEPLOY = Path(__file__).parents[3] / "deploy"
KUBECTL = Path(sys.executable).parent / "kubectl"


@cache
def rendered(folder: str) -> tuple[Mapping[str, Any], ...]:
    done = subprocess.run(
        [str(KUBECTL), "kustomize", str(DEPLOY / folder)], check=True, capture_output=True
    )
    return tuple(read_kubernetes_yaml(done.stdout, folder))


def one(kind: str) -> Mapping[str, Any]:
    (found,) = (item for item in rendered(".") if item["kind"] == kind)
    return found


def test_everything_renders_and_what_is_namespaced_is_in_the_namespace_of_gitbot() -> None:
    kinds = [str(item["kind"]) for item in rendered(".")]
    assert {"Namespace", "ServiceAccount", "ClusterRole", "Deployment", "ConfigMap"} <= set(kinds)
    clusterwide = ("Namespace", "ClusterRole", "ClusterRoleBinding", "PriorityClass")
    for item in rendered("."):
        expected = None if item["kind"] in clusterwide else "gitbot"
        assert item["metadata"].get("namespace") == expected


def test_the_pod_is_restricted_and_never_doubled() -> None:
    spec = one("Deployment")["spec"]
    pod = spec["template"]["spec"]
    (container,) = pod["containers"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert pod["serviceAccountName"] == "gitbot-mover"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }
    assert "ports" not in container  # nothing calls in
    writable = [item["mountPath"] for item in container["volumeMounts"] if not item.get("readOnly")]
    assert writable == ["/tmp"]


def test_the_pod_is_scheduled_early_and_away_from_nodes_in_maintenance() -> None:
    pod = one("Deployment")["spec"]["template"]["spec"]
    found = one("PriorityClass")
    assert found["metadata"]["name"] == pod["priorityClassName"]
    assert (found["value"] > 0, found["preemptionPolicy"]) == (True, "Never")
    preferred = pod["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    ((expression,),) = (term["preference"]["matchExpressions"] for term in preferred)
    assert expression == {"key": f"{PREFIX}window", "operator": "DoesNotExist"}


def test_nothing_reaches_the_pod_and_it_reaches_names_forge_and_api_server() -> None:
    spec = one("NetworkPolicy")["spec"]
    labels = one("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert spec["podSelector"]["matchLabels"].items() <= labels.items()
    assert (spec["policyTypes"], spec["ingress"]) == (["Ingress", "Egress"], [])
    (rule,) = spec["egress"]
    assert {port["port"] for port in rule["ports"]} == {53, 443, 6443}


def overlay(folder: Path, *components: str) -> list[Mapping[str, Any]]:
    """What kubectl makes of an overlay beside a copy of `deploy`."""
    shutil.copytree(DEPLOY, folder / "gitbot" / "deploy")
    names = [f"../gitbot/deploy/rbac/{name}" for name in components]
    text = {"resources": ["../gitbot/deploy"], "components": names}
    (folder / "mine").mkdir()
    (folder / "mine" / "kustomization.yaml").write_text(json.dumps(text))
    shown = [str(KUBECTL), "kustomize", str(folder / "mine")]
    done = subprocess.run(shown, check=True, capture_output=True)
    return list(read_kubernetes_yaml(done.stdout, "overlay"))


OPTIONAL = sorted(path.name for path in (DEPLOY / "rbac").glob("optional-*"))


def test_an_overlay_adds_each_component_without_a_change_to_the_copy(tmp_path: Path) -> None:
    assert len(OPTIONAL) == 5
    added = [item["metadata"]["name"] for item in overlay(tmp_path, *OPTIONAL)]
    assert {"gitbot-ledger-anchor", "gitbot-load", "gitbot-cordon", "gitbot-vm-guard"} <= {*added}


@pytest.mark.parametrize("name", OPTIONAL)
def test_nodes_are_patched_only_under_a_guard_of_their_fields(name: str, tmp_path: Path) -> None:
    found = overlay(tmp_path, name)
    patches = [
        rule
        for item in found
        for rule in item.get("rules", ())
        if "nodes" in rule["resources"] and "patch" in rule["verbs"]
    ]
    guards = {
        item["spec"]["policyName"]: item["spec"]["validationActions"]
        for item in found
        if item["kind"] == "ValidatingAdmissionPolicyBinding"
    }
    assert bool(patches) is (name == "optional-cordon")
    assert (guards.get("gitbot-node-guard") == ["Deny"]) is bool(patches)


def test_its_arguments_are_those_of_the_command() -> None:
    (container,) = one("Deployment")["spec"]["template"]["spec"]["containers"]
    name, *arguments = container["args"]
    assert name == reconcile.name
    parsed = reconcile.make_context(name, list(arguments)).params
    assert parsed["watch"] is True
    probes = (container["livenessProbe"], container["readinessProbe"])
    assert all(parsed["health_file"] in " ".join(probe["exec"]["command"]) for probe in probes)


def test_its_configuration_is_valid_once_the_repository_is_named() -> None:
    text = one("ConfigMap")["data"][".gitbot.yaml"]
    settings, findings = read_settings(text.encode(), ".gitbot.yaml", not_at_hand)
    assert settings is not None, findings
    assert settings.forge.type == "github"
    assert settings.forge.repository == "OWNER/NAME"


def test_the_image_is_locked_and_runs_as_nobody() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert "--require-hashes -r requirements/runtime.txt" in text
    assert "USER 65532:65532" in text
    pod = one("Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsUser"] == 65532
    for line in text.splitlines():
        if line.startswith(("COPY", "FROM", "ARG")):
            assert "://" not in line


def ruleset(name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((DEPLOY / "github" / name).read_text())
    return value


def matches(pattern: str, ref: str) -> bool:
    """fnmatch as GitHub says it: * stops at a slash, **/ spans folders (or none)."""
    text = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    return re.fullmatch(text, ref) is not None


@pytest.mark.parametrize(
    ("branch", "covered"),
    [
        ("gitbot/ledger", True),
        (snapshot_branch("prod"), True),
        (concern_branch("prod", "drain-scu-firmware-20261206T210000Z"), True),
        ("main", False),
        ("gitbot", False),
        ("feature/gitbot/x", False),
    ],
)
def test_only_the_app_touches_every_branch_of_gitbot(branch: str, covered: bool) -> None:
    rules = ruleset("ruleset.json")
    (pattern,) = rules["conditions"]["ref_name"]["include"]
    assert matches(pattern, f"refs/heads/{branch}") is covered
    assert {rule["type"] for rule in rules["rules"]} == {"creation", "update", "deletion"}
    assert [actor["actor_type"] for actor in rules["bypass_actors"]] == ["Integration"]


def test_nobody_rewrites_the_ledger() -> None:
    rules = ruleset("ruleset-ledger.json")
    assert rules["conditions"]["ref_name"]["include"] == ["refs/heads/gitbot/ledger"]
    assert {rule["type"] for rule in rules["rules"]} == {"deletion", "non_fast_forward"}
    assert rules["bypass_actors"] == []
