"""A check says what keeps everything from starting, and status names the command that helps."""

from pathlib import Path

import pytest

from gitbot.adapters.clock import SystemClock
from tests.unit.cli.desk import at_desk, merge

SAID = "nothing would be carried out now: "


def test_a_check_says_why_nothing_would_be_carried_out_and_ends_as_the_plan_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        assert desk.gitbot("move", "vm/jumpbox", "--away").code == 0
        assert desk.gitbot("check", "--pull-request", "1", "--publish").code == 0
        merge(desk, 1)
        desk.git("pull", "-q", "--ff-only")
        before = desk.gitbot("check")
        assert SAID not in before.text
        assert desk.gitbot("hold", "--reason", "fire", "--by", "ann").code == 0
        held = desk.gitbot("check")
        assert held.code == before.code
        assert held.out.startswith(f"{SAID}fire (ann, since ")
        assert held.out.splitlines()[0].endswith("; next: gitbot resume")
        document = desk.gitbot("plan", "-o", "json")
        assert SAID in document.err
        assert document.out.startswith("{")
        assert desk.gitbot("resume", "--by", "ann").code == 0
        desk.gitbot("apply", "--max-runtime", "1")
        forge = tmp_path / "placement.git"
        desk.git("--git-dir", str(forge), "update-ref", "-d", "refs/heads/gitbot/ledger")
        lost = desk.gitbot("check")
        assert lost.out.startswith(f"{SAID}gitbot created migration")
        assert "; next: gitbot ledger adopt" in lost.out.splitlines()[0]


def test_with_a_clock_that_is_off_every_command_names_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        assert desk.gitbot("move", "vm/jumpbox", "--away").code == 0
        merge(desk, 1)
        desk.git("pull", "-q", "--ff-only")
        now = SystemClock.now
        monkeypatch.setattr(SystemClock, "now", lambda self: now(self) + 120)
        status = desk.gitbot("status")
        assert status.code == 1
        (wish,) = (line for line in status.out.splitlines() if "move-jumpbox" in line)
        assert wish.endswith("; next: gitbot doctor")
        checked = desk.gitbot("check")
        assert checked.code == 0
        assert checked.out.startswith(f"{SAID}the API server's clock is ")
        assert "FAIL cluster/clock" in desk.gitbot("doctor").out
