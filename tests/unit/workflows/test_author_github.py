"""A person's new intents on GitHub: one pull request each, in their name, found again."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gitbot.adapters.forges.github.connect import open_github
from gitbot.adapters.git.ledger_branch import GitLedgerStore
from gitbot.adapters.git.repository import GitRepository
from gitbot.simulation.port import SimulatedPort
from gitbot.wiring.workspace import base_branch
from gitbot.workflows.ask.open_pulls import changing_intents
from gitbot.workflows.author import NewIntent, check_new, open_already, open_new, with_free_name
from gitbot.workflows.core.context import RunContext
from tests.doubles.customapp import customapp
from tests.doubles.github import GitHub, Server
from tests.doubles.github.scene import REPOSITORY
from tests.unit.workflows.story import configuration

MOVE = NewIntent(
    kind="MigrationRequest",
    namespace="customapp",
    name="move-jumpbox",
    spec={"vms": {"names": ["jumpbox"]}, "target": {"node": "kni-worker5"}, "note": "make room"},
    verb="move",
    title="Move customapp/jumpbox to kni-worker5",
    note="make room",
)
DRAIN = NewIntent(
    kind="MaintenanceWindow",
    name="drain-kni-worker",
    spec={"nodes": {"names": ["kni-worker"]}},
    verb="drain",
    title="Empty kni-worker",
)
APART = NewIntent(
    kind="ZoneAntiAffinity",
    namespace="customapp",
    name="jumpbox-apart",
    spec={"selector": {"matchLabels": {"app": "jumpbox"}}},
    verb="rule",
    title="Keep them apart",
)


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunContext]:
    """alice at work, with her own token."""
    folder = tmp_path_factory.mktemp("github")
    port = SimulatedPort(customapp(step=2, jumpbox=True))
    github = GitHub(folder / "service", clock=port)
    github.add_repository(REPOSITORY)
    github.add_collaborator(REPOSITORY, "alice", "write")
    with Server(github) as server:
        way = open_github(
            named=REPOSITORY,
            origin="",
            base_branch="main",
            clock=port,
            environment={
                "GITHUB_TOKEN": github.personal_token("alice"),
                "GITHUB_API_URL": server.api,
            },
        )
        repository = GitRepository.clone(way.remote, folder / "gitbot.git", access=way.access)
        repository.write_commit(
            branch="main",
            expected=None,
            time=port.now(),
            message="Start",
            files={".gitbot.yaml": configuration().encode()},
        )
        yield RunContext(
            cluster_name="iberia",
            base_branch="main",
            repository=repository,
            forge=way.forge,
            ledger_store=GitLedgerStore(repository),
            cluster=port,
            clock=port,
            read_base=base_branch(repository, name="main", cluster="iberia").at,
        )


@pytest.mark.parametrize("new", [MOVE, DRAIN, APART], ids=lambda new: new.verb)
def test_what_is_asked_twice_is_one_pull_request(shell: RunContext, new: NewIntent) -> None:
    assert open_already(shell, new) is None
    assert check_new(shell, new).judged is not None
    opened = open_new(shell, new)
    assert (opened.author, opened.title, opened.branch) == ("alice", new.title, new.branch)
    assert opened.url.endswith(f"/pull/{opened.number}")
    again = open_already(shell, new)
    assert again is not None
    assert again.number == opened.number
    assert with_free_name(shell, new).name == f"{new.name}-2"
    shell.forge.close_pull(opened.number)
    assert open_already(shell, new) is None


def test_a_pull_request_that_changes_no_intent_is_not_listed(shell: RunContext) -> None:
    shell.repository.write_commit(
        branch="docs",
        expected=None,
        time=shell.clock.now(),
        message="words",
        parents=(shell.repository.commit("main").id,),
        files={".gitbot.yaml": configuration().encode(), "README.md": b"words\n"},
    )
    text = shell.forge.open_pull(
        branch="docs", base_branch="main", title="Words", body="", labels=()
    )
    asked = open_new(shell, replace(MOVE, name="other", spec={"vms": {"names": ["jumpbox"]}}))
    assert [pull.number for pull in changing_intents(shell, (text, asked))] == [asked.number]
