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
from gitbot.reports import CATALOGUE, MetricKind
from gitbot.service import Address, parse_address

ROOT = Path(__file__).parents[3]
KUBECTL = Path(sys.executable).parent / "kubectl"
PAGE = ROOT / "docs" / "reference" / "metrics.md"
DASHBOARD = ROOT / "deploy" / "monitoring" / "dashboard.json"
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


def series() -> set[str]:
    """What each metric is called in a query."""
    parts = {MetricKind.HISTOGRAM: ("_bucket", "_count", "_sum")}
    return {
        name + part for name, metric in CATALOGUE.items() for part in parts.get(metric.kind, ("",))
    }


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: str(alert["alert"]))
def test_an_alert_asks_for_metrics_that_exist_and_has_its_page(alert: Mapping[str, Any]) -> None:
    asked = re.findall(r"gitbot_\w+", alert["expr"])
    assert asked
    assert set(asked) <= series()
    for name, label in re.findall(r"(gitbot_\w+)\{(\w+)=", alert["expr"]):
        assert CATALOGUE[name].label == label
    assert alert["labels"]["severity"] in ("critical", "warning")
    assert alert["annotations"]["summary"].endswith(".")
    path, _, anchor = alert["annotations"]["runbook"].partition("#")
    assert ROOT / path == PAGE
    assert anchor == alert["alert"].lower()
    assert f"### {alert['alert']}\n" in PAGE.read_text()
    assert f"alertname: {alert['alert']}\n" in TESTS.read_text()


def panels() -> list[Mapping[str, Any]]:
    """The panels of the dashboard that show something."""
    found: list[Mapping[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


@pytest.mark.parametrize("panel", panels(), ids=lambda panel: str(panel["title"]))
def test_a_panel_asks_for_metrics_and_labels_that_exist(panel: Mapping[str, Any]) -> None:
    assert panel["targets"]
    for target in panel["targets"]:
        asked = re.findall(r"(gitbot_\w+)\{([^}]*)\}", target["expr"])
        assert len(asked) == target["expr"].count("gitbot_") == 1, target["expr"]
        ((name, selectors),) = asked
        assert name in series()
        metric = CATALOGUE[name.removesuffix("_bucket")]
        selected = re.findall(r"(\w+)=~?\"", selectors)
        assert selected[0] == "cluster", "the dashboard's choice"
        assert {*selected, *re.findall(r"{{(\w+)}}", target["legendFormat"])} <= {
            "cluster",
            metric.label,
        }
        # several series with one legend look like one
        shown = metric.label in (*selected, *re.findall(r"{{(\w+)}}", target["legendFormat"]))
        assert shown or not metric.label


def test_panels_have_their_own_place_on_the_dashboard() -> None:
    every = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in every}) == len(every)
    taken = [
        (x, y)
        for panel in every
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(taken)) == len(taken)
    assert max(x for x, _ in taken) < 24, "columns of Grafana"


def test_the_page_explains_no_other_alert() -> None:
    headings = re.findall(r"^### (\w+)$", PAGE.read_text(), re.MULTILINE)
    assert headings == [alert["alert"] for alert in alerts()]
