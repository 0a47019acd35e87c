"""What somebody pushed to a branch, however odd, ends nobody's command."""

import pytest

from gitbot.errors import UnreachableError
from gitbot.workflows.author import NewIntent, open_already
from gitbot.workflows.propose import propose
from tests.doubles.intents import RULE
from tests.unit.workflows.story import CLUSTER, Story
from tests.unit.workflows.test_propose import FILE, HEAL, TAKEN, actions

MOVE = NewIntent(
    kind="MigrationRequest",
    namespace="customapp",
    name="move-jumpbox",
    spec={"vms": {"names": ["jumpbox"]}},
    verb="move",
    title="Move it",
)


@pytest.mark.parametrize("written", ["5", "[1]", "{a: 1}", "true", "2026-01-01", "'x'"])
def test_a_proposal_with_any_time_of_expiry_is_left_alone(written: str) -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    story.commit(TAKEN, **{FILE: f"spec: {{digest: x, expiresAt: {written}}}\n"})
    assert actions(propose(story.shell)) == {HEAL: "unchanged"}


@pytest.mark.parametrize(
    "text", ["spec: [1]\n", "spec: text\n", "- spec\n", "text\n", "", "spec:\n"]
)
def test_a_branch_with_any_file_is_not_the_same_move(text: str) -> None:
    story = Story.begin()
    path = MOVE.path(CLUSTER)
    story.open("move/customapp-move-jumpbox", **{path: text})
    assert open_already(story.shell, MOVE) is None


def test_a_head_that_cannot_be_read_now_may_be_the_same_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    story.open("move/customapp-move-jumpbox", **{MOVE.path(CLUSTER): MOVE.text})

    def silent(commit: str) -> None:
        raise UnreachableError(f"{commit} cannot be fetched: no answer")

    with monkeypatch.context() as patch:
        patch.setattr(story.repository, "fetch_commit", silent)
        with pytest.raises(UnreachableError):
            open_already(story.shell, MOVE)
    assert open_already(story.shell, MOVE) is not None
