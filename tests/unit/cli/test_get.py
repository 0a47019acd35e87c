"""`gitbot get`: what is declared and how it is, listed as kubectl does."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from gitbot.cli.commands.get import _told
from gitbot.cli.shared.schema_table import schema_of
from gitbot.workflows.ask import Row
from tests.doubles.intents import HEAD, REQUEST, RULE
from tests.unit.cli.desk import Desk, at_desk

LABELLED = RULE.replace("{name: mssql2016,", "{labels: {team: db}, name: mssql2016,")
WINDOW = f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: weekly}}
spec:
  nodes: {{names: [kni-worker]}}
  schedule: {{start: "2026-01-04T22:00", duration: PT4H, recurrence: "FREQ=WEEKLY;BYDAY=SU"}}
---
{HEAD}kind: FreezeWindow
metadata: {{name: quarter}}
spec:
  namespaces: [elsewhere]
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        desk.commit(jump=REQUEST, rule=LABELLED, weekly=WINDOW)
        yield desk


def out(desk: Desk, *words: str, code: int = 0) -> str:
    said = desk.gitbot("get", *words)
    assert said.code == code, said.text
    return said.out


def cells(desk: Desk, *words: str) -> dict[str, list[str]]:
    """The rows of a table by name; cells are more than two spaces apart."""
    head, *lines = out(desk, *words).splitlines()
    at = head.split("   ")
    column = [cell.strip() for cell in at if cell.strip()].index("NAME")
    rows = [[cell.strip() for cell in line.split("   ") if cell.strip()] for line in lines]
    return {row[column]: row for row in rows}


def test_watch_prints_the_rows_that_change(desk: Desk) -> None:
    command = [sys.executable, "-m", "gitbot", "get", "nodes", "-w"]
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, cwd=desk.tree, env=path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        head, *before = [process.stdout.readline().split() for _ in range(8)]
        assert head[:2] == ["NAME", "STATE"]
        (cordoned,) = (row for row in before if row[0] == "kni-worker3")
        assert cordoned[1] == "Ready"
        desk.loop.cluster.cordon("kni-worker3")
        line = process.stdout.readline().split()
        assert line[:2] == ["kni-worker3", "Ready,SchedulingDisabled"]
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_watch_tells_how_many_vms_are_left() -> None:
    row = Row(kind="Node", name="n1", state="Ready", health="drains; 3 VMs", opening="in 2 h")
    assert _told(row) == _told(replace(row, opening="in 1 h", since=9))
    assert _told(row) != _told(replace(row, health="drains; 2 VMs"))


def test_intents_have_state_health_age_opening_and_file(desk: Desk) -> None:
    head = out(desk, "intents").splitlines()[0].split("   ")
    titles = [cell.strip() for cell in head if cell.strip()]
    expected = ["KIND", "NAMESPACE", "NAME", "STATE", "HEALTH", "AGE", "NEXT OPENING", "FILE"]
    assert titles == expected
    rows = cells(desk, "intents")
    assert set(rows) == {"jump", "mssql2016", "weekly", "quarter"}
    assert rows["mssql2016"][3] == "broken"
    assert rows["mssql2016"][-1] == "intents/iberia/rule.yaml:1"
    assert rows["jump"][3] == "not planned"
    assert any(cell.endswith("Europe/Madrid") or cell == "now" for cell in rows["weekly"])
    assert rows["quarter"][3] == "open"
    assert set(cells(desk, "windows")) == {"weekly", "quarter"}
    assert set(cells(desk, "rules")) == {"mssql2016"}


def test_requests_and_moves_follow_the_ledger(desk: Desk) -> None:
    assert cells(desk, "requests")["jump"][2] == "not planned"
    desk.gitbot("propose")
    assert cells(desk, "requests")["jump"][2] == "proposed"
    desk.gitbot("cancel", "request/customapp/jump", "--by", "ann", "--reason", "no")
    assert cells(desk, "requests")["jump"][2:4] == ["cancelled", "no (ann)"]
    assert out(desk, "requests", "-o", "name") == "request/customapp/jump\n"
    assert out(desk, "moves") == ""


def test_nodes_say_when_they_leave_service(desk: Desk) -> None:
    document = json.loads(out(desk, "nodes", "-o", "json"))
    jsonschema.validate(document, schema_of("Listing"))
    nodes = {item["name"]: item for item in document["items"]}
    assert nodes["kni-worker"]["opening"]
    assert not nodes["kni-worker4"]["opening"]
    assert nodes["kni-worker"]["state"] == "Ready"
    head, *lines = out(desk, "nodes", "-o", "wide").splitlines()
    assert head.split()[-3:] == ["CPU", "MEMORY", "VMS"]
    assert any(line.endswith("customapp/jumpbox") for line in lines)
    assert nodes["kni-worker"]["health"].endswith((" VM", " VMs"))
    for listing in (again := yaml.safe_load(out(desk, "nodes", "-o", "yaml")), document):
        for item in listing["items"]:  # a second may pass between the two looks
            item["opening"] = re.sub("(in|for another) [0-9][^,]*", "", item["opening"])
    assert again["items"] == document["items"]


def test_vms_by_namespace_label_and_name(desk: Desk) -> None:
    assert "jumpbox" in out(desk, "vms", "-n", "customapp")
    assert out(desk, "vms", "-n", "nowhere") == ""
    assert "jumpbox" in out(desk, "vms", "-A", "-n", "nowhere")
    databases = out(desk, "vms", "-l", "kubevirt.io/domain=mssql2016", "-o", "name").splitlines()
    others = out(desk, "vms", "-l", "kubevirt.io/domain notin (mssql2016)", "-o", "name")
    assert len(databases) == 3
    assert others == "vm/jumpbox\n"
    assert out(desk, "vm", "jumpbox", "-o", "name") == "vm/jumpbox\n"
    assert "not found: ghost" in desk.gitbot("get", "vms", "ghost").err


def test_labels_of_intents_select_them(desk: Desk) -> None:
    assert out(desk, "intents", "-l", "team=db", "-o", "name") == "zoneantiaffinity/mssql2016\n"
    assert "zoneantiaffinity" not in out(desk, "intents", "-l", "!team", "-o", "name")
    said = desk.gitbot("get", "intents", "-l", "team = =")
    assert said.code == 2
    assert "expected such as app=db" in said.err


def test_a_wrong_kind_names_the_right_one(desk: Desk) -> None:
    said = desk.gitbot("get", "windos")
    assert (said.code, "did you mean windows?" in said.err) == (2, True)


def test_broken_intents_and_a_cluster_out_of_reach_are_said(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.commit(rule=LABELLED.replace("selector", "selektor"))
    said = desk.gitbot("get", "rules")
    assert said.code == 1
    assert "mssql2016" in said.out
    assert said.err.startswith("broken: intents/iberia/rule.yaml:")
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    said = desk.gitbot("get", "rules")
    assert said.code == 2
    assert "unknown" in said.out
    assert "the cluster could not be read" in said.err
    assert "no vms found" not in desk.gitbot("get", "vms").text, "nobody knows"


def test_clusters_are_shown_as_published_and_none_is_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (desk.tree / ".gitbot.yaml").read_text()
    more = text.replace("  clusters:\n", "  clusters:\n  - {name: dakar, timeZone: UTC}\n")
    (desk.tree / ".gitbot.yaml").write_text(more)
    desk.git("commit", "-q", "-a", "-m", "Dakar")
    desk.git("push", "-q", "origin", "HEAD:main")
    assert desk.gitbot("reconcile", "--cluster", "iberia").code in (0, 1)
    assert desk.gitbot("hold", "--cluster", "dakar", "--reason", "new racks").code == 0
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
    table = out(desk, "clusters")
    assert [line.split()[:2] for line in table.splitlines()[1:]] == [
        ["dakar", "not"],
        ["iberia", "idle"],
    ]
    assert "new racks; no snapshot was published" in table
    assert "NEXT OPENING" not in table
    named = desk.gitbot("status", "--all-clusters", "-o", "name").out
    assert named == out(desk, "clusters", "-o", "name") == "cluster/dakar\ncluster/iberia\n"
    document = json.loads(out(desk, "clusters", "-o", "json"))
    jsonschema.validate(document, schema_of("Listing"))
    assert [item["kind"] for item in document["items"]] == ["Cluster", "Cluster"]
    assert desk.gitbot("get", "clusters", "dakhar").code == 2
    assert desk.gitbot("status", "--all-clusters", "-w").code == 2
