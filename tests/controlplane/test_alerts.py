"""promtool judges deploy/monitoring: the syntax of alerts and queries, and what they say."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.documents import read_kubernetes_yaml
from gitbot.model.text.canonical import canonical_json
from gitbot.reports import CATALOGUE, MetricKind
from tests.controlplane import build
from tests.controlplane.test_deploy import DEPLOY

pytestmark = pytest.mark.controlplane
RULES = DEPLOY / "monitoring" / "rules.yaml"
DASHBOARD = DEPLOY / "monitoring" / "dashboard.json"
TESTS = Path(__file__).parent / "promtool" / "alerts.test.yaml"
VALUES = {"for": "person", "severity": "error"}  # that a query asks for by name


def promtool(folder: Path, *words: str) -> None:
    program = str(build.build(["promtool"])["promtool"])
    done = subprocess.run(
        [program, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_fires_when_it_should_and_no_earlier(tmp_path: Path) -> None:
    (rules,) = read_kubernetes_yaml(RULES.read_bytes(), RULES.name)
    (tmp_path / "rules.yaml").write_bytes(canonical_json(rules["spec"]))  # JSON is YAML
    shutil.copy(TESTS, tmp_path)
    promtool(tmp_path, "check", "rules", "rules.yaml")
    promtool(tmp_path, "test", "rules", TESTS.name)


def every_series() -> Iterator[str]:
    """One series for each metric, with all of its buckets."""
    for name, metric in CATALOGUE.items():
        more = f',{metric.label}="{VALUES.get(metric.label, "any")}"' if metric.label else ""
        if metric.kind is not MetricKind.HISTOGRAM:
            yield f'{name}{{cluster="prod"{more}}}'
            continue
        for bound in (*metric.buckets, "+Inf"):
            yield f'{name}_bucket{{cluster="prod",le="{bound}"}}'


def test_each_query_of_the_dashboard_finds_what_gitbot_writes(tmp_path: Path) -> None:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    queries = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    assert len(queries) > 20
    asked = [
        {
            "expr": f"count({query.replace('$cluster', '.*')}) > bool 0",
            "eval_time": "2h",
            "exp_samples": [{"labels": "{}", "value": 1}],
        }
        for query in queries
    ]
    series = [{"series": each, "values": "1+1x130"} for each in every_series()]
    test = {"interval": "1m", "input_series": series, "promql_expr_test": asked}
    (tmp_path / "queries.yaml").write_bytes(canonical_json({"tests": [test]}))
    promtool(tmp_path, "test", "rules", "queries.yaml")
