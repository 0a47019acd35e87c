"""What one can look at while GitHub's API fails and its Git answers."""

import pytest

from tests.doubles.github.faults import Fault, Trouble
from tests.doubles.intents import REQUEST
from tests.unit.cli.desk import typed
from tests.unit.cli.test_authoring_github import Office, office

__all__ = ["office"]


@pytest.mark.parametrize("command", ["status", "get requests", "ledger show --all"])
def test_the_page_is_shown_from_git(office: Office, command: str) -> None:
    office.scene.commit("main", {"intents/iberia/jump.yaml": REQUEST})
    assert typed("cancel", "request/customapp/jump", "--by", "ann").code == 0
    whole = typed(*command.split())
    assert whole.code == 0, whole.text
    office.scene.github.faults.append(
        Fault(trouble=Trouble.REFUSE, path=".*/pulls.*", status=503, times=1000)
    )
    said = typed(*command.split())
    assert said.code == 2, said.text
    first, *rest = said.out.splitlines()
    assert first.startswith("Git answers, the forge does not: ")
    assert "503" in first
    assert first.endswith("; pull requests are not known")
    known = whole.out.splitlines()
    assert [line.split()[:3] for line in rest] == [line.split()[:3] for line in known]
