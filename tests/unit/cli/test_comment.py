"""`gitbot comment` on a real bare repository, without any cluster: on the published snapshot."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.git.ledger_branch import GitLedgerStore
from gitbot.adapters.git.repository import GitRepository
from gitbot.cli.commands import comment
from gitbot.errors import UsageError
from gitbot.execution.ledger_folds import stop_flag
from gitbot.simulation.port import SimulatedPort
from gitbot.snapshot import write_snapshot
from gitbot.workflows.core.published_snapshots import SNAPSHOT_FILE, snapshot_branch
from tests.doubles import people
from tests.doubles.customapp import customapp
from tests.doubles.intents import REQUEST, RULE
from tests.unit.workflows.story import CLUSTER, configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A clone of a bare repository with pull request 1."""

    forge: LocalForge
    repository: GitRepository

    def say(self, body: str, *, by: str = "ann") -> int:
        return self.forge.acting_as(by).upsert_comment(1, marker=body, body=body).id

    def last(self) -> str:
        return self.forge.list_comments(1)[-1].body

    def stop(self) -> str:
        self.repository.fetch()
        return stop_flag(GitLedgerStore(self.repository).read(), CLUSTER)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    bare, now = tmp_path / "intents.git", SystemClock().now()
    forge = LocalForge.create(bare, clock=SystemClock())
    repository = GitRepository.clone(str(bare), tmp_path / "mirror")
    port = SimulatedPort(customapp(step=2, jumpbox=True, start_time=now))
    files = {
        ".gitbot.yaml": configuration().encode(),
        f"intents/{CLUSTER}/rule.yaml": RULE.encode(),
    }
    main = repository.write_commit(
        branch="main", expected=None, files=files, message="start", time=now
    )
    repository.write_commit(
        branch="work",
        expected=None,
        files={**files, f"intents/{CLUSTER}/jump.yaml": REQUEST.encode()},
        message="work",
        time=now,
        parents=(main,),
    )
    repository.write_commit(
        branch=snapshot_branch(CLUSTER),
        expected=None,
        files={SNAPSHOT_FILE: write_snapshot(port.snapshot())},
        message="snapshot",
        time=now,
        orphan=True,
    )
    person = forge.acting_as("ann")
    person.open_pull(branch="work", base_branch="main", title="t", body="", labels=())
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(bare), str(clone)], check=True, timeout=60)
    monkeypatch.chdir(clone)
    return Place(forge=forge, repository=repository)


def obey(*arguments: str) -> Result:
    return CliRunner().invoke(
        comment.comment, list(arguments), catch_exceptions=False, standalone_mode=False
    )


def test_plan_explain_and_status_need_no_cluster(place: Place) -> None:
    plan = obey("--issue", "1", "--comment", str(place.say("/gitbot plan")), "-o", "json")
    document = json.loads(plan.stdout)
    assert (document["outcome"], document["verb"], document["startPass"]) == ("done", "plan", False)
    assert place.forge.list_statuses(place.forge.get_pull(1).head)
    obey("--issue", "1", "--comment", str(place.say("/gitbot explain jumpbox")))
    assert "nodes take it" in place.last()
    obey("--issue", "1", "--comment", str(place.say("/gitbot status")))
    assert "request/customapp" not in place.last()
    assert "as the ledger says" in place.last()


def test_the_event_of_a_job_says_which_comment(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = tmp_path / "event.json"
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    identity = place.say("/gitbot hold", by="bob")
    event.write_text(
        json.dumps(
            {
                "issue": {"number": 1},
                "comment": {"id": identity, "body": "/gitbot resume", "user": {"login": "eve"}},
            }
        )
    )
    result = obey()
    assert result.return_value == 0
    assert place.stop() == "comment on 1"
    assert f"comment {identity} on 1: hold done" in result.stdout


def test_who_may_only_read_is_not_obeyed(place: Place) -> None:
    people.refuse_writing(place.forge, "eve")
    result = obey("--issue", "1", "--comment", str(place.say("/gitbot hold", by="eve")))
    assert result.return_value == 0
    assert place.stop() == ""
    assert "needs the right to write" in place.last()


def test_a_command_that_cannot_be_carried_out_ends_with_1(place: Place) -> None:
    result = obey("--issue", "1", "--comment", str(place.say("/gitbot explain nobody")))
    assert result.return_value == 1
    assert "there is no vm nobody" in place.last()


@pytest.mark.parametrize(
    ("text", "message"),
    [(None, "which comment is meant"), ("", "cannot be read"), ("{}", "not an event about")],
)
def test_an_event_that_says_nothing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, message: str
) -> None:
    path = tmp_path / "event.json"
    if text:
        path.write_text(text)
    if text is None:
        monkeypatch.delenv("GITHUB_EVENT_PATH", raising=False)
    else:
        monkeypatch.setenv("GITHUB_EVENT_PATH", str(path))
    with pytest.raises(UsageError, match=message):
        obey()
