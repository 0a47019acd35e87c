"""`gitbot status`, the page on the wall: what it shows, and what it tells people to type."""

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from gitbot.cli.shared.schema_table import schema_of
from tests.doubles.intents import CONFIGURATION, HEAD, REQUEST, RULE
from tests.unit.cli.desk import Desk, at_desk, merge

NOTHING = b"nothing is running, and nothing waits"
JUMP = "request/customapp/jump"
BROKEN = RULE.replace("selector", "selektor")
FREEZE = f"""{HEAD}kind: FreezeWindow
metadata: {{name: quarter}}
spec:
  schedule: {{start: "2026-01-04T22:00", timeZone: UTC, duration: PT4H, recurrence: "FREQ=YEARLY"}}
"""
WINDOWS = f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: weekly}}
spec:
  nodes: {{names: [kni-worker]}}
  schedule: {{start: "2026-01-04T22:00", duration: PT4H, recurrence: "FREQ=WEEKLY;BYDAY=SU"}}
---
{FREEZE}"""


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with at_desk(tmp_path, monkeypatch) as desk:
        yield desk


def out(desk: Desk, *words: str, code: int = 0) -> str:
    """What a command prints on standard output; it must end with that code."""
    said = desk.gitbot(*words)
    assert said.code == code, said.text
    return said.out


def test_broken_intents_are_one_section_and_the_rest_is_shown(desk: Desk) -> None:
    desk.commit(jump=REQUEST)
    out(desk, "propose")
    merge(desk, 1)
    desk.git("pull", "-q")
    good = desk.git("rev-parse", "HEAD").strip()
    desk.commit(rule=BROKEN)
    page = out(desk, "status", code=1)
    mode, _, first, *rest = page.splitlines()
    assert mode == "iberia, mode Enforce: nothing can start: the base branch has errors"
    assert first == f"Broken intents (gitbot does nothing; below are those of {good[:12]}):"
    assert rest[0].startswith("  intents/iberia/rule.yaml:4:1: spec.selector: found nothing")
    assert "stopped: the base branch has errors; next: git pull && gitbot lint" in rest
    assert f"pull request 1 is merged ({JUMP}); next: gitbot apply" in rest
    document = json.loads(out(desk, "status", "-o", "json", code=1))
    jsonschema.validate(document, schema_of("Status"))
    assert document["commit"] == good
    assert {line.split(":")[0] for line in document["broken"]} == {"intents/iberia/rule.yaml"}
    assert desk.gitbot("apply").code == 1, "nothing is carried out"


def test_a_broken_configuration_on_main_and_in_the_clone_is_no_end(desk: Desk) -> None:
    broken = CONFIGURATION.replace("stabilize", "stabilise")
    (desk.tree / ".gitbot.yaml").write_text(broken.replace("CLUSTER", desk.loop.cluster.name))
    desk.git("commit", "-qam", "oops")
    desk.git("push", "-q")
    page = out(desk, "status", code=1)
    assert "  .gitbot.yaml:8:15: spec.proposals.stabilise: " in page
    assert "flag set in ledger" in out(desk, "hold", "--by", "ann", "--reason", "smoke")
    assert "stopped: smoke (ann, since " in out(desk, "status", code=1)


def test_the_stop_flag_says_who_why_and_what_lifts_it(desk: Desk) -> None:
    out(desk, "hold", "--by", "ann", "--reason", "storage is slow")
    (line,) = [line for line in out(desk, "status").splitlines() if line.startswith("stopped")]
    assert line.startswith("stopped: storage is slow (ann, since ")
    assert line.endswith("Europe/Madrid); next: gitbot resume")
    out(desk, "resume", "--by", "bob")
    assert "stopped" not in out(desk, "status")


def test_next_openings_stand_in_local_time(desk: Desk) -> None:
    desk.commit(weekly=WINDOWS)
    shown = json.loads(out(desk, "status", "-o", "json"))["openings"]
    assert {item["name"] for item in shown} == {"weekly", "quarter"}
    drain = next(item for item in shown if item["name"] == "weekly")
    assert " 22:00 Europe/Madrid (" in drain["local"] or "open until" in drain["local"]
    page = out(desk, "status")
    assert f"{drain['request']}: {drain['local'].split(' (')[0]}" in page
    assert "FreezeWindow quarter: " in page
    assert drain["where"] == "intents/iberia/weekly.yaml:1"


def test_yaml_is_the_same_document_and_wide_shows_more(desk: Desk) -> None:
    desk.commit(jump=REQUEST)
    one, other = (out(desk, "status", "-o", form) for form in ("json", "yaml"))
    left, right = json.loads(one), yaml.safe_load(other)
    assert {**left, "time": ""} == {**right, "time": ""}
    assert JUMP in out(desk, "status", "-o", "wide")


def test_a_request_given_shows_that_request_alone(desk: Desk) -> None:
    desk.commit(jump=REQUEST, freeze=FREEZE)
    out(desk, "propose")
    assert "Open proposals:" in out(desk, "status", JUMP)
    merge(desk, 1)
    alone = out(desk, "status", JUMP)
    assert alone.splitlines() == [
        "iberia, mode Enforce",
        "",
        "Merged, not applied yet:",
        f"pull request 1 is merged ({JUMP}); next: gitbot apply",
    ]
    wrong = desk.gitbot("status", "request/customapp/jumo")
    assert wrong.code == 2
    assert "knows no request request/customapp/jumo" in wrong.err


def test_cancel_takes_what_is_written_merged_or_still_to_open(desk: Desk) -> None:
    desk.commit(jump=REQUEST, weekly=WINDOWS)
    page = out(desk, "status")
    drain = next(word for word in page.split() if word.startswith("drain/weekly/"))
    for request in (JUMP, drain.rstrip(":")):
        assert request in page
        assert out(desk, "cancel", request, "--by", "ann") == f"{request}: cancelled\n"
    page = out(desk, "status")
    assert "no plan for it is approved" not in page
    openings = page.partition("Next openings:")[2]
    assert drain.rstrip(":") not in openings, "what is cancelled does not open"
    assert "drain/weekly/" in openings, "the one after it does"
    assert out(desk, "propose") == "no concern: nothing to propose\n"


def test_watch_refreshes_in_place_on_a_terminal(desk: Desk) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gitbot", "status", "-w"],
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        cwd=desk.tree,
    )
    os.close(theirs)
    shown, end = b"", time.monotonic() + 60
    try:
        while shown.count(NOTHING) < 2 and time.monotonic() < end:
            if select.select([ours], [], [], 1)[0]:
                shown += os.read(ours, 65_536)
    finally:
        process.terminate()
        process.wait(timeout=30)
        os.close(ours)
    pages = shown.split(b"\x1b[H\x1b[2J")[1:]
    assert len(pages) >= 2
    assert all(NOTHING in page for page in pages[:2])
