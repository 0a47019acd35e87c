"""The workflow that publishes pages, executed by act: written, and given to GitHub Pages."""

from pathlib import Path

import pytest

from gitbot.adapters.forges.github.setup import GitHubChoices, workflow_files
from gitbot.adapters.working_tree import ShippedTexts
from tests.forge import runner
from tests.forge.world import ACTION, CLUSTER, REPOSITORY, world

pytestmark = [pytest.mark.forge, pytest.mark.timeout(900)]


def test_the_pages_of_a_cluster_are_written_and_published(tmp_path: Path) -> None:
    if runner.missing():
        pytest.skip(runner.missing())
    choices = GitHubChoices(repository=REPOSITORY, action=ACTION, site="yes")
    files = workflow_files(ShippedTexts().workflows(), choices, cluster=CLUSTER)
    with world(tmp_path) as made:
        made.dispatch()
        made.run()
        place = ".github/workflows/site.yml"
        made.commit("main", {place: files[place]})
        made.dispatch("site.yml")
        rows = [row for row in made.run() if row.workflow == "gitbot site"]
    said = {row.job.partition(" ")[0]: row.said for row in rows}
    assert list(said) == ["write", "publish"]
    for page in ("index.html", "map.html", "moves.html", "map.json"):
        assert f"artefact site-{CLUSTER}: {page}, " in said["write"], said["write"]
    assert "publish site-* public true" in said["publish"]
