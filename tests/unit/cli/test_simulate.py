"""`gitbot simulate -o html`: nodes before and after, every VM, in one page of its own."""

import json
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.doubles.problems import node, vm
from tests.scenarios.small_clusters import Objects, flat, kubevirt, machine
from tests.unit.cli.desk import Said, typed

SCENARIO = Path(__file__).parents[2] / "scenarios" / "what_if"


def page(*words: str) -> Said:
    given = ("--snapshot", "cluster.yaml", "--now", "2026-12-01T01:00:00Z", "-o", "html")
    return typed("simulate", *words, *given)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy outside of any clone, whose state gitbot would tell about."""
    monkeypatch.chdir(shutil.copytree(SCENARIO, tmp_path / "what_if"))


def picture(text: str) -> ET.Element:
    begin, end = text.index("<svg"), text.index("</svg>") + len("</svg>")
    return ET.fromstring(text[begin:end])


def drawn(chart: ET.Element, kind: str) -> list[str]:
    return [group.findtext("text", "") for group in chart.iter("g") if group.get("class") == kind]


def test_a_lost_node_before_and_after() -> None:
    said = page("lose", "node-a")
    assert said.code == 1, said.text
    chart = picture(said.out)
    assert drawn(chart, "leaving") == ["default/db-1", "default/web-1"]
    assert drawn(chart, "arriving") == ["default/db-1"]  # the other finds no place
    names = [item.text for item in chart.iter("text") if item.get("class") == "name"]
    amounts = [item.text for item in chart.iter("text") if item.get("class") == "amount"]
    assert names == ["node-a", "node-a", "node-c", "node-c"]
    assert amounts == ["2 VMs", "0 VMs", "1 VM", "2 VMs"]
    assert [item.findtext("title") for item in chart.iter("path")] == [
        "default/db-1: node-a to node-c"
    ]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", said.out)
    assert cells[cells.index("PENDING") :][:4] == ["PENDING", "default", "web-1", "node-a"]
    assert "http" not in said.out.replace("http-equiv", "")


def test_more_of_one_come_from_nowhere() -> None:
    chart = picture(page("grow", "vm/log", "--by", "3").out)
    assert drawn(chart, "leaving") == []
    assert drawn(chart, "arriving") == ["default/log-1"]


@pytest.mark.parametrize(
    "words", [("label", "node-b", "topology.kubernetes.io/zone=a"), ("survive",)]
)
def test_what_moves_nothing_has_rows_alone(words: tuple[str, ...]) -> None:
    said = page(*words)
    assert "<svg" not in said.out
    assert said.out.count("<tr>") > 1


RULE = """apiVersion: placement.gitbot.dev/v1alpha1
kind: ZoneAntiAffinity
metadata: {name: %s, namespace: default}
spec: {selector: {matchLabels: {app: %s}}, topologyKey: %s}
"""
ZONE, ARCH = "topology.kubernetes.io/zone", "kubernetes.io/arch"
BROKEN = (
    "breaks: ZoneAntiAffinity default/{0}: kubernetes.io/arch=amd64 holds 2 of at most 1: {0}-1"
)


@pytest.mark.parametrize(
    ("name", "key", "broken"),
    [("db", ZONE, False), ("db", ARCH, True), ("web", ZONE, False), ("web", ARCH, True)],
)
def test_a_rule_that_is_new_or_changes(tmp_path: Path, name: str, key: str, broken: bool) -> None:
    """The repository has a rule db by zone."""
    said = rule(tmp_path, RULE % (name, name, key))
    assert said.code == int(broken), said.text
    assert (BROKEN.format(name) in said.out) is broken, said.text
    assert f"{int(broken)} broken, 0 mended" in said.out


def test_a_rule_with_errors_is_named_with_its_place(tmp_path: Path) -> None:
    said = rule(tmp_path, RULE.replace("selector", "selektor") % ("db", "db", ZONE))
    assert said.code != 0
    assert f"{tmp_path}/rule.yaml:4:" in said.err
    assert said.out == ""


def rule(folder: Path, text: str) -> Said:
    file = folder / "rule.yaml"
    file.write_text(text)
    given = ("--snapshot", "cluster.yaml", "--now", "2026-12-01T01:00:00Z")
    return typed("simulate", "rule", str(file), *given)


GIVEN = ("--snapshot", "cluster.yaml", "--now", "2026-12-01T01:00:00Z")


@pytest.mark.parametrize(
    ("words", "together"),
    [
        (("node-a", "node-b"), True),
        (("node/node-a,node-b",), True),
        (("--rolling", "node-a", "node-b"), False),
        (("node-a", "node-b", "--rolling", "2"), False),
        (("node-a", "--rolling", "node-b"), False),
        (("node-a",), False),
    ],
)
def test_nodes_are_emptied_together_or_one_after_the_other(
    words: tuple[str, ...], together: bool
) -> None:
    said = typed("simulate", "drain", *words, *GIVEN)
    assert said.code == 1, said.text
    assert ("node-a, node-b are emptied together or not at all" in said.out) is together
    assert ("node node-a is not emptied" in said.out) is not together


@pytest.mark.parametrize("claims", [[], [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]])
@pytest.mark.parametrize("asked", [("lose", "n-0"), ("grow", "vm/ai", "--by", "2")])
def test_starts_of_vms_with_devices_by_claims_are_called_not_proven(
    claims: list[dict[str, str]], asked: tuple[str, ...]
) -> None:
    template: dict[str, Any] = {"resourceClaims": claims} if claims else {}
    objects: Objects = [
        kubevirt(),
        node("n-0"),
        node("n-1"),
        vm("ai", on="n-0"),
        machine("ai", **template),
    ]
    Path("dra.json").write_text(json.dumps(list(flat(objects))))
    given = ("--snapshot", "dra.json", "--now", "2026-12-01T01:00:00Z", "-o", "json")
    answer = typed("simulate", *asked, *given)
    assert answer.code == 0, answer.text
    starts = json.loads(answer.out)["starts"]
    assert [bool(start["to"]) for start in starts] == [True] * len(starts) != []
    for start in starts:
        assert ("not proven" in start["why"]) is bool(claims)
        assert ("resource claims gpu" in start["why"]) is bool(claims)
