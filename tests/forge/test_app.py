"""gitbot as a GitHub App, the recommended install: its pull requests are planned like anybody's."""

from pathlib import Path

import pytest

from gitbot.cli.shared.demo_story import RULE
from tests.forge import runner
from tests.forge.world import FOLDER, world

pytestmark = [pytest.mark.forge, pytest.mark.timeout(900)]


def test_an_apps_pull_request_is_planned_shown_merged_and_applied(tmp_path: Path) -> None:
    if runner.missing():
        pytest.skip(runner.missing())
    with world(tmp_path, app=True) as made:
        made.commit("main", {f"{FOLDER}/mssql2016.yaml": RULE})
        made.dispatch()
        ran = made.run()
        (number,) = made.open_pulls()
        opened = made.ask("bob", "GET", f"~/pulls/{number}")
        assert opened["user"]["login"] == "gitbot[bot]"
        ended = [row.workflow for row in ran if row.conclusion == "success"]
        # an App's pull request starts workflows, what a job's own token opens would not
        assert {"gitbot reconcile", "gitbot plan", "gitbot show"} <= set(ended)
        assert made.checks(number) == {"gitbot/plan": "success", "gitbot/policy": "success"}
        authors = {comment["user"]["login"] for comment in made.comments(number)}
        assert authors == {"gitbot[bot]"}
        made.merge(number)
        made.run()
        nodes = sorted(made.instances("mssql2016").values())
        assert len({*nodes}) == 3
        assert made.checks(number)["gitbot/apply"] == "success"
