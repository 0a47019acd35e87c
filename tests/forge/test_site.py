"""The workflow that publishes pages, executed by act: written, and given to GitHub Pages."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.adapters.forges.github.setup import GitHubChoices, workflow_files
from gitbot.adapters.working_tree import ShippedTexts
from tests.forge import runner
from tests.forge.world import ACTION, CLUSTER, REPOSITORY, World, world

pytestmark = [pytest.mark.forge, pytest.mark.timeout(900)]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[World]:
    """A cluster with one pass behind it, and a repository that has the workflow."""
    if runner.missing():
        pytest.skip(runner.missing())
    choices = GitHubChoices(repository=REPOSITORY, action=ACTION, site="yes")
    files = workflow_files(ShippedTexts().workflows(), choices, cluster=CLUSTER)
    place = ".github/workflows/site.yml"
    with world(tmp_path) as started:
        started.dispatch()
        started.run()
        started.commit("main", {place: files[place]})
        yield started


def published(made: World) -> dict[str, runner.Ran]:
    """The jobs of a run of the workflow, by name."""
    made.dispatch("site.yml")
    rows = [row for row in made.runner.run_all() if row.workflow == "gitbot site"]
    return {row.job.partition(" ")[0]: row for row in rows}


def test_the_pages_of_a_cluster_are_written_and_published(made: World) -> None:
    ran = published(made)
    assert {job: row.conclusion for job, row in ran.items()} == {
        "write": "success",
        "publish": "success",
    }
    for page in ("index.html", "map.html", "moves.html", "map.json"):
        assert f"artefact site-{CLUSTER}: {page}, " in ran["write"].said
    assert "publish site-* public true" in ran["publish"].said


def test_nothing_is_published_if_a_cluster_cannot_be_read(made: World) -> None:
    secrets = made.github.repository(REPOSITORY).environments[f"gitbot-{CLUSTER}"].secrets
    known = secrets["GITBOT_KUBECONFIG"]
    secrets["GITBOT_KUBECONFIG"] = known.replace(made.face.url, "http://127.0.0.1:1")
    ran = published(made)
    assert ran["write"].conclusion == "failure"
    assert f"error: {CLUSTER} could not be read: " in ran["write"].said
    assert ran["publish"].conclusion == "skipped"
    assert "artefact" not in ran["write"].said
