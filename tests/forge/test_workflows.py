"""The shipped workflows, executed by act against the GitHub double and the simulated cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.cli.demo_texts import request
from tests.forge import runner
from tests.forge.world import FOLDER, World, world

pytestmark = [pytest.mark.forge, pytest.mark.timeout(600)]

JUMPBOX = {
    f"{FOLDER}/jumpbox-to-sab.yaml": request(
        "jumpbox-to-sab", vm="jumpbox", node="kni-worker5", reason="Maintenance", note="n"
    )
}


@pytest.fixture
def made(tmp_path: Path) -> Iterator[World]:
    if runner.missing():
        pytest.skip(runner.missing())
    with world(tmp_path) as started:
        yield started


def test_from_request_to_migration(made: World) -> None:
    made.dispatch()
    assert [row.job for row in made.run()][:1] == ["reconcile (iberia)"]
    number = made.open_pull("jump", JUMPBOX)
    assert [row.workflow for row in made.run()] == ["gitbot plan", "gitbot show"]
    assert made.checks(number) == {"gitbot/plan": "success", "gitbot/policy": "success"}
    assert len(made.comments(number)) == 1
    made.merge(number)
    made.run()
    assert made.instances()["jumpbox"] == "kni-worker5"
    assert made.ledger()[-1]["state"] == "succeeded"
