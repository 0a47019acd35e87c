"""The component of deploy/monitoring fits the pod, the command, the metrics and their page."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gitbot.cli.commands.serve import serve
from gitbot.documents import read_kubernetes_yaml
from gitbot.reports import CATALOGUE
from gitbot.service import Address, parse_address

ROOT = Path(__file__).parents[3]
KUBECTL = Path(sys.executable).parent / "kubectl"
PAGE = ROOT / "docs" / "reference" / "metrics.md"
RULES = ROOT / "deploy" / "monitoring" / "rules.yaml"
TESTS = ROOT / "tests" / "controlplane" / "promtool" / "alerts.test.yaml"


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, Any]]:
    """What kubectl makes of an overlay with the component, by kind."""
    folder = tmp_path_factory.mktemp("overlay")
    shutil.copytree(ROOT / "deploy", folder / "deploy")
    (folder / "mine").mkdir()
    patch = [
        {"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--cluster=a"}
    ]
    text = {
        "resources": ["../deploy"],
        "components": ["../deploy/monitoring"],
        "patches": [
            {"target": {"kind": "Deployment", "name": "gitbot"}, "patch": json.dumps(patch)}
        ],
    }
    (folder / "mine" / "kustomization.yaml").write_text(json.dumps(text))
    shown = [str(KUBECTL), "kustomize", str(folder / "mine")]
    done = subprocess.run(shown, check=True, capture_output=True)
    return {item["kind"]: item for item in read_kubernetes_yaml(done.stdout, "overlay")}


def alerts() -> list[Mapping[str, Any]]:
    (rules,) = read_kubernetes_yaml(RULES.read_bytes(), RULES.name)
    (group,) = rules["spec"]["groups"]
    found: list[Mapping[str, Any]] = group["rules"]
    return found


def test_the_pod_serves_on_its_own_address(objects: Mapping[str, Mapping[str, Any]]) -> None:
    (container,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    name, *arguments = container["args"]
    assert name == serve.name
    parsed = serve.make_context(name, list(arguments)).params
    assert (parsed["listen"], parsed["cluster"]) == ("$(POD_IP):8080", "a")
    assert parsed["health_file"] in " ".join(container["readinessProbe"]["exec"]["command"])
    (address,) = (item for item in container["env"] if item["name"] == "POD_IP")
    assert address["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    for ip in ("10.1.2.3", "fd00::7"):  # as Kubernetes writes them
        assert parse_address(f"{ip}:8080") == Address(host=ip, port=8080)


def test_only_prometheus_reaches_the_port(objects: Mapping[str, Mapping[str, Any]]) -> None:
    (container,) = objects["Deployment"]["spec"]["template"]["spec"]["containers"]
    (port,) = container["ports"]
    assert port == {"name": "http", "containerPort": 8080}
    (endpoint,) = objects["PodMonitor"]["spec"]["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["path"]) == (port["name"], "/metrics")
    labels = objects["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert objects["PodMonitor"]["spec"]["selector"]["matchLabels"].items() <= labels.items()
    (rule,) = objects["NetworkPolicy"]["spec"]["ingress"]
    assert rule["ports"] == [{"port": "http"}]
    assert [list(peer) for peer in rule["from"]] == [["namespaceSelector"]]


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: str(alert["alert"]))
def test_an_alert_asks_for_metrics_that_exist_and_has_its_page(alert: Mapping[str, Any]) -> None:
    asked = re.findall(r"gitbot_\w+", alert["expr"])
    assert asked
    assert set(asked) <= CATALOGUE.keys()
    for name, label in re.findall(r"(gitbot_\w+)\{(\w+)=", alert["expr"]):
        assert CATALOGUE[name].label == label
    assert alert["labels"]["severity"] in ("critical", "warning")
    assert alert["annotations"]["summary"].endswith(".")
    path, _, anchor = alert["annotations"]["runbook"].partition("#")
    assert ROOT / path == PAGE
    assert anchor == alert["alert"].lower()
    assert f"### {alert['alert']}\n" in PAGE.read_text()
    assert f"alertname: {alert['alert']}\n" in TESTS.read_text()


def test_the_page_explains_no_other_alert() -> None:
    headings = re.findall(r"^### (\w+)$", PAGE.read_text(), re.MULTILINE)
    assert headings == [alert["alert"] for alert in alerts()]
