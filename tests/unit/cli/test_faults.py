"""Where a person was misled or left blind: the real commands, typed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.intents import HEAD
from tests.doubles.intents import REQUEST as JUMP
from tests.unit.cli.desk import Desk, at_desk

FREEZE = f"{HEAD}kind: FreezeWindow\nmetadata: {{name: quarter}}\nspec: {{}}\n"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        yield desk


def finished(desk: Desk) -> None:
    """The jumpbox has moved to kni-worker5, and its request is over."""
    pull = desk.loop.open({"jump.yaml": JUMP})
    desk.loop.publish(pull.number)
    desk.loop.merge(pull.number)
    assert desk.loop.apply().states == {"succeeded": 1}
    desk.git("fetch", "-q")
    desk.git("pull", "-q", "--ff-only")


def test_a_freeze_leaves_finished_requests_alone(desk: Desk) -> None:
    finished(desk)
    desk.commit(freeze=FREEZE)
    for words in (["lint"], ["plan"], ["status"], ["apply"], ["reconcile"]):
        said = desk.gitbot(*words)
        assert (words, said.code, said.text.count("FreezeWindow quarter")) == (words, 0, 0), said


def test_a_freeze_is_a_finding_on_the_request_that_it_forbids(desk: Desk) -> None:
    finished(desk)
    other = JUMP.replace("name: jump,", "name: again,").replace("worker5", "worker3")
    desk.commit(freeze=FREEZE, again=other)
    said = desk.gitbot("plan")
    assert said.code == 1
    assert "jumpbox: FreezeWindow quarter covers all the time allowed for it" in said.out
    assert "intents/iberia/jump.yaml" not in said.text
    assert desk.gitbot("status").code == 0


def test_hold_and_resume_are_said_by_the_author_of_commits(desk: Desk) -> None:
    desk.gitbot("hold", "--reason", "the storage is slow")
    stops = desk.loop.shell.ledger_store.read().stops(desk.loop.cluster.name)
    assert [(stop.author, stop.reason) for stop in stops] == [("Ann", "the storage is slow")]
    assert desk.gitbot("resume").out == "resumed by Ann\n"
    desk.git("config", "--unset", "user.name")
    desk.gitbot("hold")
    assert desk.gitbot("resume", "--by", "bob").out == "resumed by bob\n"


def test_manifests_that_are_changed_and_not_committed_count(desk: Desk) -> None:
    configured = (desk.tree / ".gitbot.yaml").read_text() + "  manifests: [{path: vms}]\n"
    (desk.tree / ".gitbot.yaml").write_text(configured)
    (desk.tree / "vms").mkdir()
    (desk.tree / "vms" / "jumpbox.yaml").write_text("kind: VirtualMachine\n")
    desk.git("add", ".")
    desk.git("commit", "-qm", "manifests")
    desk.git("branch", "start")
    desk.write(jump=JUMP)
    assert desk.gitbot("check", "--base", "start").code == 0
    for name in ("jumpbox", "new"):
        (desk.tree / "vms" / f"{name}.yaml").write_text("kind: VirtualMachine\nspec: {}\n")
        said = desk.gitbot("check", "--base", "start")
        assert said.code == 1
        assert f"VM manifests (vms/{name}.yaml" in said.out
        desk.git("checkout", "-q", "vms")


RENDERED = f"""\
{HEAD}kind: ZoneAntiAffinity
metadata: {{name: mssql2016, namespace: customapp}}
spec:
  selector: {{matchLabels: {{kubevirt.io/domain: mssql2016}}}}
  admission: Render
"""


def test_a_plugin_that_refuses_what_a_rule_would_render(desk: Desk) -> None:
    desk.write(rule=RENDERED)
    assert "admission-plugin" not in desk.gitbot("plan").out
    said = desk.gitbot("plan", "--assume-plugin", "LimitPodHardAntiAffinityTopology")
    assert said.code == 1
    assert (
        "intents/iberia/rule.yaml:6:14: spec.admission: the admission plugin "
        "LimitPodHardAntiAffinityTopology will refuse required anti-affinity by "
        "topology.kubernetes.io/zone: it allows kubernetes.io/hostname only"
    ) in said.out
    assert desk.gitbot("plan", "--assume-plugin", "AlwaysPullImages").code == 2


def test_apply_names_a_merged_request_that_nobody_planned(desk: Desk) -> None:
    desk.commit(jump=JUMP)
    said = desk.gitbot("apply")
    wish = "request/customapp/jump: no plan for it is approved; next: gitbot propose"
    assert (said.code, said.out.splitlines()[-1]) == (0, wish)
    found = json.loads(desk.gitbot("apply", "-o", "json").out)["notPlanned"]
    assert [line["next"] for line in found] == ["gitbot propose"]
    assert desk.gitbot("propose").code == 0
    assert "request/customapp/jump" not in desk.gitbot("apply").out
