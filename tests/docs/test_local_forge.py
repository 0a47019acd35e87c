"""Each button of docs/local_forge.py does what its help says."""

import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.adapters.git.repository import GitRepository

SCRIPT = Path(__file__).parents[2] / "docs" / "local_forge.py"


@pytest.fixture
def forge(tmp_path: Path) -> LocalForge:
    """With a branch `wish` beside main."""
    forge = LocalForge.create(tmp_path / "forge.git", clock=SystemClock())
    clone = GitRepository.clone(str(tmp_path / "forge.git"), tmp_path / "clone")
    main: tuple[str, ...] | None = None
    for branch in ("main", "wish"):
        commit = clone.write_commit(
            branch=branch,
            expected=None,
            files={f"{branch}.yaml": b"x\n"},
            message=branch,
            time=1,
            parents=main,
        )
        main = (commit,)
    return forge


def press(folder: Path, *words: str) -> str:
    buttons = runpy.run_path(str(SCRIPT))["buttons"]
    arguments = [str(folder / "forge.git"), *words]
    result = CliRunner().invoke(buttons, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_pull_request_from_opening_to_merge(forge: LocalForge, tmp_path: Path) -> None:
    wish = "1 open wish by ann: A wish\n"
    assert press(tmp_path, "open", "wish", "--as", "ann", "--title", "A wish") == wish
    assert press(tmp_path, "list") == press(tmp_path, "approve", "1", "--as", "dora") == wish
    assert [review.reviewer for review in forge.get_pull(1).reviews] == ["dora"]
    assert press(tmp_path, "merge", "1", "--as", "dora").startswith("1 merged wish")


def test_a_team_is_set_and_removed(forge: LocalForge, tmp_path: Path) -> None:
    assert press(tmp_path, "team", "@acme/dba", "ann", "dora") == "@acme/dba: ann, dora\n"
    assert forge.team_members("@acme/dba") == frozenset({"ann", "dora"})
    assert press(tmp_path, "team", "@acme/dba") == "@acme/dba: removed\n"
    assert forge.team_members("@acme/dba") is None


def test_a_comment_says_what_to_type(forge: LocalForge, tmp_path: Path) -> None:
    press(tmp_path, "open", "wish", "--as", "ann", "--title", "A wish")
    said = "/gitbot override quorum its members are rebuilt"
    assert press(tmp_path, "comment", "1", said, "--as", "dora") == (
        "next: gitbot comment --issue 1 --comment 1\n"
    )
    assert [(item.author, item.body) for item in forge.list_comments(1)] == [("dora", said)]
    assert said in press(tmp_path, "show", "1")
    assert press(tmp_path, "close", "1").startswith("1 closed wish")
