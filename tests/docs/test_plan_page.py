"""What docs/how-a-plan-is-made.md shows is what its example prints."""

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitbot.model.text.instants import parse_instant
from tests.docs.blocks import blocks
from tests.docs.scratch import ROOT
from tests.scenarios.test_scenarios import run

PAGE = ROOT / "docs/how-a-plan-is-made.md"
PLAN = "gitbot plan --cluster lab --snapshot cluster.yaml --now 2026-12-06T21:00:00Z"
EXPLAIN = PLAN.replace("plan", "explain vm/{} -n shop", 1)
BAR = re.compile(r"^  (.+) :([\d:]+), ([\d:]+)$", re.MULTILINE)
BEGINS = parse_instant("2026-12-06T21:00:00Z")
GIB = 1024**3


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    return Path(shutil.copytree(ROOT / "examples/plan", tmp_path / "plan"))


def test_what_the_page_shows_is_printed(example: Path) -> None:
    shown = [block for block in blocks(PAGE) if block.language == "console"]
    assert len(shown) == 4
    for block in shown:
        printed, _ = run(block.commands.strip(), example)
        rows = iter(printed.splitlines())
        for line in block.output:
            assert line in rows, f"line {block.line}: not printed, or not in this order: {line}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The pictures of the page, in its order, and the plan that they are about."""

    nodes: str
    targets: str
    aside: str
    waves: str
    bound: str
    plan: dict[str, Any]
    folder: Path


@pytest.fixture
def shown(example: Path) -> Shown:
    drawn = [block.text for block in blocks(PAGE) if block.language == "mermaid"]
    nodes, targets, aside, waves, bound = drawn
    plan = printed(f"{PLAN} -o json", example)
    return Shown(
        nodes=nodes,
        targets=targets,
        aside=aside,
        waves=waves,
        bound=bound,
        plan=plan,
        folder=example,
    )


def printed(command: str, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(f"{command} > made.json", folder)[1])
    return found


def clock(seconds: int) -> str:
    return f"00:{seconds // 60:02}:{seconds % 60:02}"


def test_the_first_picture_is_the_cluster(shown: Shown) -> None:
    wanted: dict[str, tuple[int, set[tuple[str, int]]]] = {}
    held: dict[str, set[tuple[str, int]]] = {}
    objects = list(yaml.safe_load_all((shown.folder / "cluster.yaml").read_text("utf-8")))
    for pod in (item for item in objects if item["kind"] == "Pod"):
        asks = pod["spec"]["containers"][0]["resources"]["requests"]["memory"]
        vm = (pod["metadata"]["labels"]["vm.kubevirt.io/name"], int(asks.removesuffix("Gi")))
        held.setdefault(pod["spec"]["nodeName"], set()).add(vm)
    for node in (item for item in objects if item["kind"] == "Node"):
        name, room = node["metadata"]["name"], node["status"]["allocatable"]["memory"]
        vms = held[name]
        wanted[name] = (int(room.removesuffix("Gi")) - sum(gib for _, gib in vms), vms)
    found = {
        name: (int(free), {(vm, int(gib)) for vm, gib in re.findall(r'"(\w+) (\d+)Gi"', inside)})
        for name, free, inside in re.findall(
            r'subgraph (\w+)\["\w+: (\d+)Gi free.*?\n(.*?)  end', shown.nodes, re.DOTALL
        )
    }
    assert found == wanted


def test_the_picture_of_targets_is_what_explain_says(shown: Shown) -> None:
    wanted = set()
    for vm in ("cache", "db"):
        (subject,) = printed(f"{EXPLAIN.format(vm)} -o json", shown.folder)["subjects"]
        refused = {row["node"] for row in subject["intents"]["rows"] if row["refuses"]}
        assert refused == {"n1"}
        for node in (item for item in subject["nodes"] if item["name"] not in refused):
            told = str(node["total"])
            if node["verdict"] != "ok":
                ((reason,),) = (item["details"] for item in node["rejections"])
                told = reason.rpartition(", ")[2]
            elif node["name"] == subject["intents"]["to"]:
                told += ", chosen"
            wanted.add((vm, told, node["name"]))
    arrow = r'^  (\w+)(?:\[.*?\])? (?:==|--|-\.) "(.*?)" (?:==>|-->|\.->) (\w+)'
    assert set(re.findall(arrow, shown.targets, re.MULTILINE)) == wanted


def test_the_arrows_are_the_moves(shown: Shown) -> None:
    wanted = {
        (
            move["vm"]["name"],
            str(move["memoryBytes"] // GIB),
            move["from"]["node"],
            str(move["wave"] + 1),
            move["to"]["node"],
        )
        for move in shown.plan["moves"]
    }
    arrow = r'\["(\w+) (\d+)Gi on (\w+)"\] -- "(\d+)\. .*?" --> (\w+)'
    assert set(re.findall(arrow, shown.aside)) == wanted


def test_the_bars_are_the_times_of_the_moves(shown: Shown) -> None:
    wanted, last = [], 0
    for move in shown.plan["moves"]:
        starts = parse_instant(move["starts"]) - BEGINS
        last = max(last, ends := starts + move["estimatedSeconds"])
        wanted.append((f"{move['vm']['name']} to {move['to']['node']}", clock(starts), clock(ends)))
    assert BAR.findall(shown.waves) == wanted
    after = [[ref["id"] for ref in move["after"]] for move in shown.plan["moves"]]
    assert after == [[], [], [2]]
    least = shown.plan["bound"]["seconds"]
    assert [bar[1:] for bar in BAR.findall(shown.bound)] == [
        (clock(0), clock(last)),
        (clock(0), clock(least)),
    ]


def test_times_in_pictures_are_read_alike_at_both_ends() -> None:
    """Mermaid takes the start of `dateFormat X` for milliseconds, and the end for seconds."""
    drawn = [block.text for block in blocks(PAGE) if block.text.startswith("gantt")]
    assert len(drawn) == 2
    assert all("dateFormat HH:mm:ss" in text for text in drawn)
