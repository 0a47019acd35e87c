"""What a pass costs at GitHub's API, read from the metrics of the real command."""

from pathlib import Path

from gitbot.reports import samples
from tests.doubles.github.core import LIMIT
from tests.doubles.intents import REQUEST
from tests.unit.cli.desk import typed
from tests.unit.cli.test_authoring_github import Office, office

__all__ = ["office"]


def test_requests_of_a_pass_and_what_is_left_are_those_that_github_counted(
    office: Office, tmp_path: Path
) -> None:
    office.scene.commit("main", {"intents/iberia/jump.yaml": REQUEST})
    path = tmp_path / "gitbot.prom"
    said = typed("reconcile", "--metrics-file", str(path))
    assert said.code == 0, said.text
    found = {name: value for name, _, value in samples(path.read_text())}
    used, _ = office.scene.github.limits.used[office.scene.tokens["alice"]]
    # a last answer of 304 says what was left before the double gave it back
    assert LIMIT - used - found["gitbot_forge_requests_remaining"] in (0, 1)
    assert found["gitbot_last_pass_forge_requests"] >= used, "answers 304 are free"
    assert found["gitbot_open_proposals"] == 1
    assert found["gitbot_cluster_requests_total"] > 5
    assert found["gitbot_cluster_received_bytes_total"] > 5_000
