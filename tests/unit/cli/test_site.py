"""`gitbot site` against the served simulator: the files say what `gitbot status` says."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.simulation.http import Runner, write_kubeconfig
from tests.doubles.intents import CONFIGURATION, REQUEST, RULE
from tests.unit.cli.desk import Desk, at_desk, merge


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        clock = Runner(desk.face, monotonic=time.monotonic, factor=1)
        clock.start()
        yield desk
        clock.stop()


def test_the_pages_show_what_the_commands_say(desk: Desk, tmp_path: Path) -> None:
    desk.commit(jump=REQUEST)
    assert desk.gitbot("propose").code == 0
    out = tmp_path / "site"
    said = desk.gitbot("site", "--out", str(out))
    assert said.code == 0, said.text
    assert "files written" in said.out
    folder = out / desk.loop.cluster.name
    page = (folder / "index.html").read_text()
    assert "Needs a person" in page
    assert "gitbot merge" in page or "review and merge" in page
    status = json.loads(desk.gitbot("status", "-o", "json").out)
    document = json.loads((folder / "index.json").read_text())
    assert {**document, "time": ""} == {**status, "time": ""}
    places = json.loads((folder / "map.json").read_text())
    nodes = json.loads(desk.gitbot("get", "nodes", "-o", "json").out)["items"]
    assert {line["node"] for line in places["nodes"]} == {item["name"] for item in nodes}
    assert sum(len(line["vms"]) for line in places["nodes"]) == 4
    assert f'href="{desk.loop.cluster.name}/index.html"' in (out / "index.html").read_text()


def test_pages_of_other_runs_are_linked_where_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = CONFIGURATION.replace("  proposals", "  - name: other\n    timeZone: UTC\n  proposals")
    with at_desk(tmp_path, monkeypatch, two) as desk:
        for words, linked in (((), False), (("--all-clusters",), True)):
            out = tmp_path / f"site-{linked}"
            desk.gitbot("site", "--out", str(out), "--cluster", "iberia", *words)
            page = (out / "index.html").read_text()
            assert 'href="iberia/index.html"' in page
            assert ('href="other/index.html"' in page) is linked


def test_moves_are_on_the_page_of_the_past(desk: Desk, tmp_path: Path) -> None:
    desk.commit(jump=REQUEST)
    desk.gitbot("propose")
    merge(desk, 1)
    assert desk.gitbot("apply").code == 0
    assert desk.gitbot("site", "--out", str(tmp_path / "site")).code == 0
    folder = tmp_path / "site" / desk.loop.cluster.name
    moves = json.loads((folder / "moves.json").read_text())["items"]
    assert ("customapp/jumpbox", "succeeded") in {(move["vm"], move["state"]) for move in moves}
    assert "customapp/jumpbox" in (folder / "moves.html").read_text()


def test_a_cluster_that_does_not_answer_is_said_with_exit_code_2(
    desk: Desk, tmp_path: Path
) -> None:
    name = desk.loop.cluster.name
    gone = write_kubeconfig(tmp_path / "gone", server="http://127.0.0.1:9", context=name)
    said = desk.gitbot("site", "--out", str(tmp_path / "site"), "--kubeconfig", str(gone))
    assert said.code == 2, said.text
    assert f"error: {name} could not be read: " in said.err
    page = (tmp_path / "site" / name / "index.html").read_text()
    assert "The cluster could not be read" in page
    for other in ("faults", "maintenance", "plans", "map"):
        page = (tmp_path / "site" / name / f"{other}.html").read_text()
        assert 'header class="good"' not in page or other == "plans", other


def test_the_exit_code_is_that_of_status(desk: Desk, tmp_path: Path) -> None:
    out = str(tmp_path / "site")
    assert desk.gitbot("hold", "--reason", "cables").code == 0
    assert (desk.gitbot("site", "--out", out).code, desk.gitbot("status").code) == (0, 0)
    desk.commit(rule=RULE.replace("selector", "selektor"))
    assert (desk.gitbot("site", "--out", out).code, desk.gitbot("status").code) == (1, 1)


def test_a_folder_that_cannot_be_written_is_an_error_with_a_hint(
    desk: Desk, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    said = desk.gitbot("site", "--out", str(tmp_path / "file" / "site"))
    assert said.code == 2
    assert "--out: " in said.err
    assert "give a folder that you may write to" in said.err
