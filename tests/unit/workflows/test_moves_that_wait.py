"""A pull request whose move waits for a foreign migration: pending, and planned again after it."""

from typing import Any

from gitbot.ports.forge import CheckState
from gitbot.workflows.check import publish, refresh_pulls
from tests.doubles.intents import REQUEST
from tests.unit.workflows.story import Story


def foreign(vm: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "by-hand", "namespace": "customapp"},
        "spec": {"vmiName": vm},
    }


def plan_check(story: Story, head: str) -> tuple[CheckState, str]:
    (found,) = (item for item in story.forge.list_statuses(head) if item.context == "gitbot/plan")
    return found.state, found.description


def test_plan_check_is_pending_until_the_foreign_migration_has_ended() -> None:
    story = Story.begin()
    pull = story.open(jump=REQUEST)
    story.port.create_migration(foreign("jumpbox"))
    publish(story.shell, number=pull.number)
    state, words = plan_check(story, pull.head)
    assert state is CheckState.PENDING
    assert words.startswith("waits until about Mon 2025-12-01 01:01:16 Europe/Madrid: ")
    assert "0 moves, 0 blocked, 1 waiting" in words
    (comment,) = story.forge.list_comments(pull.number)
    assert "⏳ gitbot on" in comment.body
    assert "until about Mon 2025-12-01 01:01" in comment.body.replace("&#8203;", "")
    assert story.forge.get_pull(pull.number).labels == ()
    story.cluster.settle()
    (again,) = refresh_pulls(story.shell)
    assert again.wrote
    state, words = plan_check(story, pull.head)
    assert (state, words[:17]) == (CheckState.SUCCESS, "1 move, 0 blocked")
    assert refresh_pulls(story.shell) == ()
