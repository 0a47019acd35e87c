"""Scenario rack (300 nodes, 4,000 VMs) on GitHub: the comment, the checks and the report fit."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitbot.adapters.forges.github.connect import open_github
from gitbot.adapters.git.ledger_branch import GitLedgerStore
from gitbot.adapters.git.repository import GitRepository
from gitbot.adapters.working_tree import ShippedTexts
from gitbot.ports.forge import CheckState, PullRequest
from gitbot.reports.html.page import html
from gitbot.simulation.port import SimulatedPort
from gitbot.wiring.workspace import base_branch
from gitbot.workflows.check import PublishResult, publish
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.propose import propose
from tests.doubles.github import GitHub, Server
from tests.doubles.github.scene import REPOSITORY
from tests.doubles.intents import CONFIGURATION
from tests.doubles.rack import rack
from tests.forge import description
from tests.scenarios.clusters import START
from tests.scenarios.rack.story import RULE, WINDOW

pytestmark = [pytest.mark.forge, pytest.mark.timeout(900), pytest.mark.xdist_group("rack")]
RIGHTS = {
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "statuses": "write",
}
REQUEST = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MigrationRequest
metadata: {name: NAME, namespace: team-00}
spec: {vms: {names: [NAME]}, reason: Troubleshooting}
"""
UNKNOWN = 60  # requests for VMs that do not exist: more than one chunk of annotations


@dataclass(frozen=True, slots=True, kw_only=True)
class Rack:
    """gitbot at work on GitHub: its shell, the service, the drain and a person's pull request."""

    github: GitHub
    shell: RunContext
    drain: PullRequest
    asked: PublishResult


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    if not description.present():
        pytest.skip("GitHub's description was not fetched: python -m tests.forge.npm")
    folder = tmp_path_factory.mktemp("rack")
    port = SimulatedPort(rack(start_time=START))
    github = GitHub(folder / "service", clock=port)
    github.add_repository(REPOSITORY)
    github.repository(REPOSITORY).actions_may_approve = True
    github.add_collaborator(REPOSITORY, "alice", "write")
    with description.watching(), Server(github) as server:
        shell = opened(github, server, port, folder)
        files = {"rule.yaml": RULE, "window.yaml": WINDOW}
        commit(shell, "main", {f"intents/rack/{name}": text for name, text in files.items()})
        propose(shell)
        (drain,) = shell.forge.list_pulls()
        asked = publish(shell, number=person_asks(github, shell))
        yield Rack(github=github, shell=shell, drain=drain, asked=asked)


def opened(github: GitHub, server: Server, port: SimulatedPort, folder: Path) -> RunContext:
    environment = {"GITHUB_TOKEN": github.job_token(REPOSITORY, RIGHTS, hours=1000),
                   "GITHUB_API_URL": server.api, "GITHUB_ACTIONS": "true"}  # fmt: skip
    way = open_github(
        named=REPOSITORY, origin="", base_branch="main", clock=port, environment=environment
    )
    repository = GitRepository.clone(way.remote, folder / "gitbot.git", access=way.access)
    repository.write_commit(
        branch="main", expected=None, time=port.now(), message="Start",
        files={".gitbot.yaml": CONFIGURATION.replace("CLUSTER", "rack").encode()},
    )  # fmt: skip
    return RunContext(
        cluster_name="rack",
        base_branch="main",
        repository=repository,
        forge=way.forge,
        ledger_store=GitLedgerStore(repository),
        cluster=port,
        clock=port,
        read_base=base_branch(repository, name="main", cluster="rack").at,
    )  # fmt: skip


def commit(shell: RunContext, branch: str, files: dict[str, str]) -> None:
    main = shell.repository.resolve("main")
    expected = shell.repository.resolve(branch)
    assert main is not None
    before = shell.repository.read_tree(main) if expected is None else {}
    shell.repository.write_commit(
        branch=branch, expected=expected, parents=(main,), message="Change", time=shell.clock.now(),
        files={**before, **{path: text.encode() for path, text in files.items()}},
    )  # fmt: skip


def person_asks(github: GitHub, shell: RunContext) -> int:
    """Alice asks for one VM that is there and for many that are not."""
    names = ["vm-0001", *(f"nobody-{number:02}" for number in range(UNKNOWN))]
    files = {f"intents/rack/{name}.yaml": REQUEST.replace("NAME", name) for name in names}
    commit(shell, "ask", files)
    body = {"title": "Ask", "head": "ask", "base": "main", "body": ""}
    token = github.personal_token("alice")
    answer = github.ask(token, "POST", f"/repos/{REPOSITORY}/pulls", body)
    number: int = answer.body["number"]
    return number


def test_the_comment_of_the_drain_fits_and_says_what_matters_first(made: Rack) -> None:
    (comment,) = made.shell.forge.list_comments(made.drain.number)
    assert len(comment.body.encode()) <= 65_536
    head = comment.body[:900]
    assert "151 moves, 0 blocked, rule breaks 1 → 1" in head
    assert "plan `sha256:" in head
    assert comment.body.rstrip().endswith("```")
    assert "gitbot status" in comment.body[-200:]


def test_the_checks_of_the_drain(made: Rack) -> None:
    checks = {check.name: check for check in made.shell.forge.list_checks(made.drain.head)}
    assert {"gitbot/plan", "gitbot/policy"} <= set(checks)
    assert checks["gitbot/plan"].state is CheckState.SUCCESS
    assert "151 moves" in checks["gitbot/plan"].title + checks["gitbot/plan"].summary


def test_every_unknown_vm_is_annotated_on_its_line(made: Rack) -> None:
    head = made.asked.pull.head
    check = next(c for c in made.shell.forge.list_checks(head) if c.name == "gitbot/plan")
    assert check.state is CheckState.FAILURE
    named = {item.path for item in check.annotations}
    assert {f"intents/rack/nobody-{number:02}.yaml" for number in range(UNKNOWN)} <= named
    chunks = [
        len(exchange.request.body["output"].get("annotations", ()))
        for exchange in made.github.journal
        if "/check-runs" in exchange.request.path
        and exchange.request.method in ("POST", "PATCH")
        and "output" in exchange.request.body
    ]
    assert 0 < max(chunks) <= 50


def test_publishing_again_writes_nothing(made: Rack) -> None:
    before = len(made.github.journal)
    again = publish(made.shell, number=made.asked.pull.number)
    assert not again.wrote
    written = [
        exchange.request.path
        for exchange in made.github.journal[before:]
        if exchange.request.method not in ("GET", "HEAD")
    ]
    assert [path for path in written if not path.endswith("/git-upload-pack")] == []


def test_the_report_of_a_large_plan_is_one_page(made: Rack) -> None:
    assert made.asked.check.diff is not None
    page = html(made.asked.check.diff, templates=ShippedTexts().templates())
    assert "nobody-59" in page
    assert len(page) < 2_000_000
