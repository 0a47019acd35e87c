"""`gitbot explain` inside a repository: its intents beside the scheduler, never mixed with it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.calendar import clock_time
from gitbot.cli.shared.schema_table import schema_of
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.ports.forge import MergeMethod
from tests.doubles.intents import HEAD, REQUEST, RULE
from tests.doubles.problems import vm
from tests.scenarios.small_clusters import flat, two_nodes
from tests.unit.cli.desk import Desk, at_desk, typed

SPREAD = RULE.replace("spec:\n", "spec:\n  topologyKey: kubernetes.io/hostname\n")
FREEZE = f"""{HEAD}kind: FreezeWindow
metadata: {{name: quarter}}
spec: {{namespaces: [customapp], reason: quarter close}}
"""


WHY = "but MaintenanceWindow/tonight (intents/iberia/tonight.yaml:1) empties kni-worker5"


def window(start: int, node: str = "kni-worker6") -> str:
    return f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: tonight}}
spec:
  nodes: {{names: [{node}]}}
  schedule: {{start: "{format_instant(start)[:16]}", timeZone: UTC, duration: PT4H}}
"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        yield desk


def databases(desk: Desk) -> dict[str, str]:
    """Names of the databases and their nodes."""
    items = desk.face.cluster.list("VirtualMachineInstance", "customapp")
    return {
        item["metadata"]["name"]: item["status"]["nodeName"]
        for item in items
        if item["metadata"]["name"].startswith("mssql")
    }


def test_rules_stand_apart_with_file_and_line(desk: Desk) -> None:
    desk.write(rule=SPREAD)
    name, node = min(databases(desk).items())
    taken = {place for other, place in databases(desk).items() if other != name}
    said = desk.gitbot("explain", name, "-n", "customapp")
    assert said.code == 0, said.text
    head, rest = said.out.split("intents of this repository:\n")
    intents, scheduler = rest.split("\n\n")
    assert "vm/" + name in head
    assert "ZoneAntiAffinity" not in scheduler
    refused = {line.split()[0] for line in intents.splitlines() if " refuses " in line}
    assert refused == taken - {node}
    assert "(intents/iberia/rule.yaml:1)" in intents
    assert next(line for line in scheduler.splitlines() if "runs here" in line).split()[0] == node


def test_freezes_windows_and_reservations_are_rows(desk: Desk) -> None:
    desk.commit(jump=REQUEST)
    desk.gitbot("propose")
    forge = LocalForge(desk.tree.parent / "placement.git", clock=SystemClock()).acting_as("bob")
    head = forge.get_pull(1).head
    forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=head)
    desk.gitbot("hold", "--by", "ann")
    desk.gitbot("apply")
    desk.write(freeze=FREEZE, tonight=window(SystemClock().now() + 3600))
    name = min(databases(desk))
    document = json.loads(desk.gitbot("explain", name, "-n", "customapp", "-o", "json").out)
    jsonschema.validate(document, schema_of("Explanation"))
    (subject,) = document["subjects"]
    assert subject["runsOn"] == databases(desk)[name]
    rows = {row["intent"]: row for row in subject["intents"]["rows"]}
    frozen = rows["FreezeWindow/quarter"]
    assert (frozen["node"], frozen["refuses"]) == ("", True)
    assert frozen["says"].endswith(": quarter close")
    assert frozen["where"] == "intents/iberia/freeze.yaml:1"
    kept = rows["request/customapp/jump"]
    assert (kept["node"], kept["where"]) == ("kni-worker5", "pull request 1")
    assert kept["says"] == "keeps a place for customapp/jumpbox"
    leaves = rows["MaintenanceWindow/tonight"]
    assert (leaves["node"], leaves["refuses"]) == ("kni-worker6", True)
    assert "leaves service in " in leaves["says"]


def test_a_vm_whose_move_is_approved_would_go_nowhere_else(desk: Desk) -> None:
    """`gitbot move` refuses it for the same reason."""
    desk.commit(jump=REQUEST)
    desk.gitbot("propose")
    forge = LocalForge(desk.tree.parent / "placement.git", clock=SystemClock()).acting_as("bob")
    forge.merge_pull(1, method=MergeMethod.MERGE, expected_head=forge.get_pull(1).head)
    desk.gitbot("hold", "--by", "ann")
    desk.gitbot("apply")
    said = desk.gitbot("explain", "jumpbox", "-n", "customapp").out.splitlines()
    (verdict,) = [line for line in said if line.startswith("vm/jumpbox")]
    approved = "request/customapp/jump (pull request #1) is approved to move this VM to kni-worker5"
    assert verdict == f"vm/jumpbox in customapp: cannot move: {approved} [reserved]"


def test_nobody_takes_a_vm_to_a_node_that_a_window_empties_soon(desk: Desk) -> None:
    desk.commit(tonight=window(SystemClock().now() + 3600, "kni-worker5"))
    desk.write(jump=REQUEST)
    for asked in ("plan", "check --base main", "plan --base main"):
        answer = desk.gitbot(*asked.split(), "-o", "json")
        document = json.loads(answer.out)
        (hold,) = [item for item in document["holds"] if item["vm"]["name"] == "jumpbox"]
        assert WHY in hold["reason"], asked
        assert [item for item in document["moves"] if item["vm"]["name"] == "jumpbox"] == []
        assert answer.code == 1
    assert json.loads(desk.gitbot("check", "--base", "main", "-o", "json").out)["drains"] == []
    (desk.tree / "intents" / "iberia" / "jump.yaml").unlink()
    desk.commit(jump=REQUEST)
    said = desk.gitbot("propose")
    assert "request-customapp-jump" in said.text
    assert WHY in said.text


def test_what_plan_refuses_explain_refuses_for_the_same_reason(desk: Desk) -> None:
    desk.write(jump=REQUEST, freeze=FREEZE)
    plan = json.loads(desk.gitbot("plan", "-o", "json").out)
    (hold,) = plan["holds"]
    said = desk.gitbot("explain", "jumpbox", "-n", "customapp").out
    assert said.startswith("vm/jumpbox in customapp: cannot move: ")
    assert f"cannot move: {hold['reason']} [{hold['code']}]\n" in said
    desk.write(freeze=FREEZE.replace("customapp", "elsewhere"))
    assert "customapp: would go to kni-worker" in desk.gitbot("explain", "jumpbox").out


def test_a_node_that_leaves_service_soon_is_refused_as_plan_refuses_it(desk: Desk) -> None:
    drained = window(SystemClock().now() + 3600).replace("worker6", "worker5")
    desk.write(jump=REQUEST, tonight=drained)
    held = json.loads(desk.gitbot("plan", "-o", "json").out)["holds"]
    (hold,) = (item for item in held if item["vm"]["name"] == "jumpbox")
    assert "MaintenanceWindow/tonight" in hold["reason"]
    alone = json.loads(desk.gitbot("explain", "--request", "customapp/jump", "-o", "json").out)
    (refused,) = alone["holds"]
    assert (refused["reason"], refused["code"]) == (hold["reason"], hold["code"])
    there = ("--added-node-selector", "kubernetes.io/hostname=kni-worker5")
    said = desk.gitbot("explain", "jumpbox", *there).out
    assert "customapp: cannot move: " in said
    same = desk.gitbot("explain", "jumpbox", "--to", "kni-worker5").out
    assert "customapp: cannot move: " in same
    free = json.loads(desk.gitbot("explain", "jumpbox", "-o", "json").out)["subjects"][0]
    assert free["intents"]["to"] not in ("", "kni-worker5")
    later = window(SystemClock().now() + 30 * 86_400).replace("worker6", "worker5")
    desk.write(jump=REQUEST, tonight=later)
    assert "1 move, 0 blocked" in desk.gitbot("explain", "--request", "customapp/jump").out


def test_another_time_is_judged_with_the_cluster_of_now(desk: Desk) -> None:
    opens = SystemClock().now() + 2 * 86_400
    when = f'  schedule: {{start: "{format_instant(opens)[:16]}", timeZone: UTC, duration: PT4H}}\n'
    soon = FREEZE.replace("spec: {namespaces: [customapp], reason: quarter close}\n", "spec:\n")
    desk.write(freeze=f"{soon}  namespaces: [customapp]\n{when}")
    assert "customapp: would go to kni-worker" in desk.gitbot("explain", "jumpbox").out
    assert re.search(r"frozen by \S+ from ", desk.gitbot("explain", "jumpbox").out)
    later = desk.gitbot("explain", "jumpbox", "--at", format_instant(opens + 3600))
    assert later.code == 0, later.text
    assert f"({format_instant(opens + 3600)}), in " in later.out.splitlines()[0]
    assert "frozen by " in later.out


def test_a_time_of_day_is_the_next_one_of_the_clusters_zone(desk: Desk) -> None:
    now = SystemClock().now()
    for command in (("plan",), ("explain", "jumpbox")):
        first = desk.gitbot(*command, "--at", "6:00").out.splitlines()[0]
        judged = parse_instant(first.partition("(")[2].partition(")")[0])
        assert f"{clock_time(judged, 'Europe/Madrid'):%H:%M:%S}" == "06:00:00"
        assert 0 < judged - now <= 86_400 + 60
    wrong = desk.gitbot("plan", "--at", "25:00")
    assert (wrong.code, "found '25:00', expected a time such as" in wrong.err) == (2, True)
    wrong = desk.gitbot("plan", "--at", "1990-12-06T21:00:00Z")
    assert (wrong.code, "expected a time of the years 2000 to 2199" in wrong.err) == (2, True)


def test_a_window_whose_nodes_are_empty_says_so(desk: Desk) -> None:
    desk.write(tonight=window(SystemClock().now() + 3600).replace("worker6", "worker5"))
    said = desk.gitbot("explain", "--window", "tonight")
    assert said.out.startswith("nothing to move: no VM is on kni-worker5\n")
    desk.write(tonight=window(SystemClock().now() + 3600))
    assert "nothing to move" not in desk.gitbot("explain", "--window", "tonight").out


def test_no_intents_and_no_repository_ask_about_the_cluster_alone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(freeze=FREEZE)
    assert "intents of this repository" in desk.gitbot("explain", "jumpbox").out
    alone = desk.gitbot("explain", "jumpbox", "--no-intents").out
    assert "intents of this repository" not in alone
    assert "runs here" in alone
    monkeypatch.chdir(desk.tree.parent)
    assert desk.gitbot("explain", "jumpbox").out == alone


def test_intents_with_errors_leave_the_cluster_and_say_so(desk: Desk) -> None:
    desk.write(rule=RULE.replace("selector", "selektor"))
    said = desk.gitbot("explain", "jumpbox")
    assert said.code == 0
    assert said.err.startswith("the intents have errors (gitbot lint): ")
    assert desk.gitbot("explain", "--request", "customapp/jump").code == 2


def test_one_request_and_one_window_are_explained_alone(desk: Desk) -> None:
    other = REQUEST.replace("name: jump,", "name: other,").replace("jumpbox", "ghost")
    desk.write(jump=REQUEST, other=other, tonight=window(SystemClock().now() + 30 * 86_400))
    said = desk.gitbot("explain", "--request", "customapp/jump")
    assert said.code == 0
    assert "1 move" in said.out
    assert "ghost" not in said.out
    assert "ghost" in desk.gitbot("explain", "--request", "customapp/other").out
    said = desk.gitbot("explain", "--window", "tonight")
    assert said.code == 0
    assert "drain/tonight" in desk.gitbot("explain", "--window", "tonight", "-o", "wide").out
    document = json.loads(desk.gitbot("explain", "--window", "tonight", "-o", "json").out)
    assert document["kind"] == "PlacementPlan"
    assert {move["from"]["node"] for move in document["moves"]} == {"kni-worker6"}
    wrong = desk.gitbot("explain", "--window", "tonigt")
    assert (wrong.code, "did you mean tonight?" in wrong.err) == (2, True)


def test_explain_reads_the_forge_and_refuses_another_clusters_snapshot(desk: Desk) -> None:
    file = str(desk.tree.parent / "iberia.json.gz")
    assert desk.gitbot("snapshot", "-o", file).code == 0
    assert desk.gitbot("explain", "jumpbox", "--snapshot", file).code == 0
    path = desk.tree / ".gitbot.yaml"
    path.write_text(path.read_text().replace("name: iberia", "name: lusitania"))
    said = desk.gitbot("explain", "jumpbox", "--snapshot", file)
    assert (said.code, "--cluster lusitania" in said.err) == (2, True)
    words = ("explain", "jumpbox", "--snapshot", file)
    assert desk.gitbot(*words, "--cluster", "lusitania").code == 0
    assert desk.gitbot(*words, "--no-intents").code == 0
    (desk.tree.parent / "placement.git").rename(desk.tree.parent / "gone.git")
    first = desk.gitbot(*words, "--cluster", "lusitania").out.splitlines()[0]
    assert first.startswith("no ledger was read, and this clone has none: ")


def test_migration_to_one_node(desk: Desk) -> None:
    said = desk.gitbot("explain", "jumpbox", "--to", "kni-worker5")
    assert said.code == 0, said.text
    answer, summary, *_ = said.out.splitlines()
    assert answer == "vm/jumpbox in customapp: would go to kni-worker5 now"
    assert summary.startswith("  1 of 7 nodes takes it, ")
    nodes = said.out.partition("NODE  ")[2].splitlines()[1:]
    assert [line.split()[:2] for line in nodes if " ok " in line] == [["kni-worker5", "ok"]]
    near = desk.gitbot("explain", "jumpbox", "--to", "kni-worke5")
    assert (near.code, "did you mean kni-worker5?" in near.err) == (2, True)
    pod = desk.loop.cluster.list("Pod")[0]["metadata"]["name"]
    other = desk.gitbot("explain", f"pod/{pod}", "--to", "kni-worker5")
    assert "--to and --added-node-selector are about migrations" in other.err


def test_a_quota_is_why_a_vm_cannot_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without intents, too: the scheduler has a node, and the API server refuses the pod there."""
    status = {"hard": {"pods": "1"}, "used": {"pods": "1"}}
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": "default"},
        "spec": {"hard": {"pods": "1"}},
        "status": status,
    }
    objects = flat([*two_nodes(), vm("web", on="node-a"), quota])
    (tmp_path / "dump.json").write_text(json.dumps({"kind": "List", "items": list(objects)}))
    monkeypatch.chdir(tmp_path)
    said = typed("explain", "web", "--snapshot", "dump.json")
    assert said.code == 0, said.text
    head, summary, *rest = said.out.splitlines()
    why = "ResourceQuota small: pods: 1 used, 1 more, 1 allowed"
    assert head == f"vm/web in default: cannot move: {why}"
    assert summary == "  1 of 2 nodes takes it, the scheduler would choose node-b"
    assert why not in "\n".join(rest)
