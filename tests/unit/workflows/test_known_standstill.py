"""What keeps everything from starting, as a check sees it."""

import pytest

from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.ask import known_standstill
from gitbot.workflows.ledger.anchor import Anchor
from tests.doubles.stage import Stage


@pytest.mark.parametrize(("flag", "said"), [(None, ""), ("smoke", "smoke"), ("", "held")])
def test_the_stop_flag_is_read_once(
    monkeypatch: pytest.MonkeyPatch, flag: str | None, said: str
) -> None:
    shell = Stage.of(nodes={"a": "east"}, vms={"one": "a"}).shell
    asked: list[str | None] = []

    def hold_flag() -> str | None:
        asked.append(flag)
        return flag

    monkeypatch.setattr(shell.cluster, "hold_flag", hold_flag)
    found = known_standstill(shell.cluster, shell.clock, Ledger, Anchor(), ())
    assert (asked, "" if found is None else found.reason) == ([flag], said)
