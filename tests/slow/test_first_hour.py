"""A user's first hour, typed with the real program against a served cluster and a local forge."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitbot.adapters.clock import SystemClock
from tests.docs.scratch import Scratch
from tests.docs.test_walk import SERVE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
SOON = 150  # seconds until tonight
BUTTON = "python $GITBOT/docs/local_forge.py $FORGE"


class Person:
    """Types commands, and looks at what they print."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self.printed = ""

    def types(self, commands: str, *expected: str, code: int = 0) -> str:
        ended, self.printed = self._scratch.run(commands)
        assert ended == code, f"$ {commands}\nexit code {ended}\n{self.printed}"
        for words in expected:
            assert words in self.printed, f"$ {commands}\nno {words!r} in\n{self.printed}"
        return self.printed

    def commits(self, message: str) -> None:
        self.types(f"git add -A && git commit -q -m '{message}' && git push -q origin main")

    def merges(self, number: int) -> None:
        self.types(f"{BUTTON} merge {number} --as ana", f"{number} merged")
        self.types("git pull -q")


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    (tmp_path / "hour").mkdir()
    scratch = Scratch(folder=tmp_path / "hour", state=tmp_path / "state")
    with scratch.serving(SERVE):
        person = Person(scratch)
        person.types("export KUBECONFIG=$PWD/cluster/kubeconfig FORGE=$PWD/forge.git")
        yield person


def test_the_first_hour(person: Person) -> None:
    _looks(person)
    _starts_a_repository(person)
    _moves_a_vm(person)
    _cancels_a_drain(person)
    _drains_tonight(person)
    _drains_at_once(person)
    _breaks_main(person)
    _holds_and_resumes(person)


def _looks(person: Person) -> None:
    person.types("gitbot demo", "succeeded")
    person.types("gitbot explain vm/nope", "there is no vm nope; known: jumpbox, ", code=2)
    person.types("gitbot explain vm/jumpbox", "5 of 7 nodes take it")


def _starts_a_repository(person: Person) -> None:
    """In a clone that has files already; the first look finds what is missing."""
    person.types(
        "git init -q --bare --initial-branch=main forge.git && git clone -q forge.git work"
    )
    person.types(
        "cd work && git checkout -q -b main && git config user.name Ann"
        " && git config user.email ann@example.org && echo 'ours' > README.md"
    )
    person.types("gitbot init --cluster iberia", "left as it is: README.md", "intents/iberia/")
    person.types("cat README.md", "ours")
    person.types("gitbot lint", ": clean")
    person.types("rm -r intents/iberia/*.yaml intents/iberia/requests")
    person.commits("Where our VMs run")
    person.types("gitbot status", "iberia, mode Observe", "stopped: mode Observe applies nothing")
    person.types("gitbot doctor", "warn configuration/mode", "fix: write mode: Enforce")
    person.types("sed -i 's/mode: Observe .*/mode: Enforce/' .gitbot.yaml")
    person.commits("We mean it")
    person.types("gitbot status", "iberia, mode Enforce", "nothing is running, and nothing waits")


def _moves_a_vm(person: Person) -> None:
    move = "gitbot move vm/jumpbox --to kni-worker5 --note 'make room'"
    person.types(f"{move} --dry-run", "kind: MigrationRequest", "1 move, 0 blocked")
    asked = (
        "pull request #1: Move customapp/jumpbox to kni-worker5; "
        "next: gitbot check --pull-request 1 --publish, then gitbot merge 1"
    )
    person.types(move, asked)
    person.types(move, "is open already", asked)
    person.types(
        "gitbot status",
        "Open pull requests of people:",
        "pull request 1 by Ann is open: Move customapp/jumpbox to kni-worker5; "
        "next: gitbot check --pull-request 1 --publish",
    )
    person.types("gitbot check --pull-request 1 --publish", "ready: 1 move")
    person.types("gitbot status", "kni-worker5; next: gitbot merge ")
    person.types(f"{BUTTON} show 1", "mode Enforce", "gitbot/plan: success")
    person.merges(1)
    person.types("git clone -q $FORGE ../stale")
    person.types("gitbot status", "Merged, not applied yet:", "next: gitbot apply")
    person.types("gitbot apply", "1 succeeded")
    person.types("gitbot apply", "nothing to do")
    person.types("gitbot status", "request/customapp/move-jumpbox: succeeded")
    _asks_from_a_stale_clone(person)
    person.types("gitbot get vms jumpbox", "kni-worker5")


def _asks_from_a_stale_clone(person: Person) -> None:
    """It was made before gitbot carried the move out, and knows nothing of that."""
    person.types("cd ../stale && gitbot plan", "0 moves, 0 blocked")
    assert "VirtualMachineInstanceMigration" not in person.types("gitbot render")
    person.types("gitbot check", "0 moves, 0 blocked")
    person.types("gitbot status", "request/customapp/move-jumpbox: succeeded")
    person.types("gitbot ledger show", "succeeded")
    person.types("cd ../work")


def _cancels_a_drain(person: Person) -> None:
    hour = f"{datetime.fromtimestamp(SystemClock().now(), UTC) - timedelta(hours=2):%H}"
    asked = f"gitbot drain kni-worker6 --start {hour}:00 --for 4h --return Propose"  # tomorrow
    person.types(asked, "pull request #2: Empty")
    person.types("gitbot check --pull-request 2 --publish")
    person.merges(2)
    page = person.types(
        "gitbot status", "Merged, not applied yet:", "Next openings:", f" {hour}:00 UTC"
    )
    assert "next: gitbot propose" not in page, "its merge approved the plan that it showed"
    drain = re.search(rf"drain/drain-kni-worker6/\d{{8}}T{hour}0000Z", page)
    assert drain is not None
    person.types("gitbot propose", "nothing to propose")
    person.types("gitbot apply", "waits: customapp/")
    person.types("gitbot status", "Waiting:", f"{drain.group()}: approved")
    person.types("gitbot get nodes kni-worker6 -o wide", f"{hour}:00", "VMS")
    person.types(f"gitbot cancel {drain.group()} --by ann --reason 'not tonight'", "withdrawn")
    page = person.types("gitbot status", f"Ended:\n{drain.group()}: cancelled", "not tonight (ann)")
    assert "Next openings:" not in page, "what was cancelled does not open"


def _drains_tonight(person: Person) -> None:
    """Tonight is in three minutes, less than the shortest lead: the moves begin at once."""
    opens = datetime.fromtimestamp(SystemClock().now() + SOON, UTC)
    start, drain = opens.strftime("%Y-%m-%dT%H:%M:%S"), f"drain/tonight/{opens:%Y%m%dT%H%M%SZ}"
    asked = f"gitbot drain kni-worker5 --name tonight --start {start} --for 4h --cordon"
    person.types(
        f"{asked} --dry-run",
        "ready, one more merge brings the VMs home once the nodes are back: 1 move",
        "\ncordon: gitbot cordons kni-worker5 before the first move off it; a person uncordons it",
        "\nhome: kni-worker5 (1 VM); once the node is back, a pull request of its own brings",
    )
    person.types(asked, "pull request #3: Empty kni-worker5 from")
    person.types("gitbot check --pull-request 3 --publish", "ready, one more merge brings")
    person.merges(3)
    person.types("gitbot status", "Merged, not applied yet:", "next: gitbot apply", drain)
    person.types("gitbot propose", "nothing to propose")
    did = "cordoned: kni-worker5", "draining: kni-worker5", "ready: kni-worker5"
    person.types("gitbot apply", "1 succeeded", *did)
    person.types("gitbot wait node/kni-worker5 --for ready", "node/kni-worker5: ready for tonight")
    person.types(
        "gitbot status",
        f"{drain}: succeeded",
        "Nodes in maintenance:",
        "cordoned by gitbot",
        "next: kubectl uncordon kni-worker5",
        "Away from home:",
    )
    person.types("gitbot get nodes kni-worker5", "SchedulingDisabled")
    person.types("kubectl uncordon kni-worker5")
    person.types("gitbot apply", "returned: kni-worker5")
    person.types("gitbot status", "Away from home:", "next: gitbot propose")
    person.types("gitbot propose", "opened (pull request 4)")
    person.types("gitbot status", "pull request 4 is open")
    person.merges(4)
    person.types("gitbot apply", "1 succeeded")
    page = person.types("gitbot status", "return/tonight/")
    assert "Away from home:" not in page
    person.types("gitbot get vms jumpbox", "kni-worker5")


def _drains_at_once(person: Person) -> None:
    """Without a time the window is open from its merge; this drain is carried out."""
    person.types("gitbot drain kni-worker5 --return never", "#5: Empty kni-worker5 at merge")
    person.types("gitbot check --pull-request 5 --publish")
    person.types(
        f"{BUTTON} show 5",
        "Empties kni-worker5: 1 VM",
        "open from the merge of its file until its nodes are back",
        "nothing comes back",
    )
    person.merges(5)
    person.types("gitbot status", "Merged, not applied yet:", "next: gitbot apply")
    person.types("gitbot apply", "1 succeeded", "draining: kni-worker5")
    row = person.types("gitbot get vms jumpbox", "away from home kni-worker5").rstrip()
    assert not row.endswith("kni-worker5")
    person.types("gitbot status", "Nodes in maintenance:", "kni-worker5")


def _breaks_main(person: Person) -> None:
    person.types("echo 'kind: MigrationRequst' > intents/iberia/broken.yaml")
    person.types("gitbot lint", "broken.yaml:1:1", code=1)
    person.commits("Oops")
    person.types("gitbot status", "Broken intents", "broken.yaml:1:1", "Ended:", code=1)
    page = person.types("gitbot doctor", "FAIL configuration/base", code=1)
    assert page.count("FAIL") == 1
    person.types("gitbot apply", "broken.yaml:1:1", code=1)
    person.types("rm intents/iberia/broken.yaml")
    person.commits("Mended")
    assert "Broken" not in person.types("gitbot status")


def _holds_and_resumes(person: Person) -> None:
    person.types("gitbot hold --by ann --reason 'storage is slow'")
    person.types("gitbot status", "stopped: storage is slow (ann", "next: gitbot resume")
    person.types("gitbot apply", "stopped: storage is slow")
    person.types("gitbot resume --by ann --reason 'well again'")
    assert "stopped" not in person.types("gitbot status")
    person.types("gitbot ledger verify", "whole")
