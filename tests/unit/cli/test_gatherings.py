"""Members of one set that a loss, a drain or a plan gathers, and landings of other pods."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doubles.problems import node, pod, vm
from tests.unit.cli.desk import typed
from tests.unit.cli.test_field_plans import MOVE, json_plan
from tests.unit.cli.test_field_words import owned, written

SET = "VirtualMachineInstanceReplicaSet"


def forecast(folder: Path, *words: str, objects: list[Any]) -> dict[str, Any]:
    asked = ("simulate", *words, "--no-intents", "-o", "json", "--snapshot")
    found: dict[str, Any] = json.loads(typed(*asked, written(folder, *objects)).out)
    return found


@pytest.mark.parametrize("command", ["lose", "drain"])
@pytest.mark.parametrize(("third", "gathers"), [("2Gi", True), ("512Mi", False)])
def test_members_that_a_loss_or_a_drain_gathers_are_said(
    tmp_path: Path, command: str, third: str, gathers: bool
) -> None:
    # n2 has more free memory, so the scheduler prefers it; n3 has room for a member, or none
    pool = [node("n1"), node("n2"), node("n3", memory=third)]
    mine = [owned("web-1", "n1", SET), owned("web-2", "n2", SET)]
    found = forecast(tmp_path, command, "n1", objects=[*pool, *mine])
    ends = {item["vm"]: item["to"] for item in found["starts"] + found["moves"]}
    assert ends == {"default/web-1": "n2"}
    said = "all 2 members are on node n2, while n3 could take one"
    assert found["gathered"] == [f"{SET} default/web: {said}"] * gathers


def test_members_that_a_drain_gathers_on_another_node_are_said(tmp_path: Path) -> None:
    """They were on one node before, too; the drain could part them."""
    pool = [node("n1"), node("n2"), node("n3", memory="2Gi")]
    mine = [owned("web-1", "n1", SET), owned("web-2", "n1", SET)]
    found = forecast(tmp_path, "drain", "n1", objects=[*pool, *mine])
    said = "all 2 members are on node n2, while n3 could take one"
    assert found["gathered"] == [f"{SET} default/web: {said}"]
    stays = [*pool, *mine, vm("other", on="n2")]
    assert forecast(tmp_path, "drain", "n2", objects=stays)["gathered"] == []


def test_losing_a_node_lists_the_landings_of_other_pods(tmp_path: Path) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "front", "controller": True}
    small, large = pod("front-1", on="n1"), pod("front-2", on="n1", memory="300Gi")
    for item in (small, large):
        item["metadata"]["ownerReferences"] = [owner]
    objects: list[Any] = [node("n1", memory="1Ti"), node("n2"), small, large, vm("db", on="n1")]
    found = forecast(tmp_path, "lose", "n1", objects=objects)
    assert found["pods"] == [
        {"pod": "default/front-1", "source": "n1", "to": "n2", "why": ""},
        {
            "pod": "default/front-2",
            "source": "n1",
            "to": "",
            "why": "0/1 nodes are available: 1 Insufficient memory",
        },
    ]
    said = typed(
        "simulate", "lose", "n1", "--no-intents", "--snapshot", written(tmp_path, *objects)
    )
    rows = [line.split()[:2] for line in said.out.splitlines() if "front-" in line]
    assert rows == [["POD", "PENDING"], ["pod", "starts"]]


@pytest.mark.parametrize(("target", "gathers"), [("n2", True), ("n3", False)])
def test_plan_notes_members_that_its_moves_gather(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, gathers: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    pool = [node(name) for name in ("n1", "n2", "n3")]
    mine = [owned("web-1", "n1", SET), owned("web-2", "n2", SET)]
    move = MOVE.replace('selector: {matchLabels: {move: "yes"}}', "names: [web-1]")
    found = json_plan(tmp_path, move.replace("node: n2", f"node: {target}"), *pool, *mine)
    assert len(found["moves"]) == 1
    said = [item["message"] for item in found["findings"] if item["code"] == "plan/gathered"]
    words = "after the plan all 2 members are on node n2, while n1, n3 could take one"
    assert said == [f"{SET} default/web: {words}"] * gathers
