"""The merge queue of the double: who may join it, who is thrown out, who is built again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.github import queue
from tests.doubles.github.problems import Problem
from tests.unit.doubles.github.scene import REPOSITORY, Scene


@pytest.fixture
def queued(tmp_path: Path) -> Iterator[Scene]:
    """Main takes reviewed and planned pull requests, through the queue only; three are open."""
    made = Scene.make(tmp_path)
    repository = made.github.repository(REPOSITORY)
    repository.options.auto_merge = True
    checks = [{"context": "plan"}]
    repository.rulesets[1] = {
        "name": "queue",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": [
            {"type": "merge_queue"},
            {"type": "pull_request", "parameters": {"required_approving_review_count": 1}},
            {"type": "required_status_checks", "parameters": {"required_status_checks": checks}},
        ],
    }
    with made.server:
        for name in ("one", "two", "three"):
            made.commit(name, {name: "x\n"})
            body = {"head": name, "base": "main", "title": name}
            made.ask("alice", "POST", "~/pulls", body)
        yield made


def approve(scene: Scene, number: int) -> None:
    scene.ask("bob", "POST", f"~/pulls/{number}/reviews", {"event": "APPROVE"})


def planned(scene: Scene, sha: str, state: str = "success") -> None:
    scene.ask("alice", "POST", f"~/statuses/{sha}", {"context": "plan", "state": state})


def head(scene: Scene, number: int) -> str:
    return scene.github.repository(REPOSITORY).pulls[number].head


def on_main(scene: Scene) -> set[str]:
    git = scene.github.repository(REPOSITORY).git
    return {file.path for file in git.tree("main", recursive=True)} - {"README.md"}


def test_a_pull_request_joins_when_it_is_reviewed_and_its_own_checks_are_good(
    queued: Scene,
) -> None:
    with pytest.raises(Problem, match="approving review is required"):
        queue.enqueue(queued.github, REPOSITORY, 1, by="bob")
    approve(queued, 1)
    with pytest.raises(Problem, match='status check "plan" is expected'):
        queue.enqueue(queued.github, REPOSITORY, 1, by="bob")
    planned(queued, head(queued, 1))
    commit = queue.enqueue(queued.github, REPOSITORY, 1, by="bob")
    assert on_main(queued) == set()  # the group's own checks count, not those of the head
    planned(queued, commit)
    assert on_main(queued) == {"one"}


def test_what_waits_behind_a_group_that_is_thrown_out_is_built_without_it(queued: Scene) -> None:
    groups = {}
    for number in (1, 2, 3):
        approve(queued, number)
        planned(queued, head(queued, number))
        groups[number] = queue.enqueue(queued.github, REPOSITORY, number, by="bob")
    git = queued.github.repository(REPOSITORY).git
    assert git.is_ancestor(groups[1], groups[3])
    planned(queued, groups[3])
    assert on_main(queued) == set()  # each waits for its turn
    planned(queued, groups[1], "failure")
    rows = queued.github.repository(REPOSITORY).queue
    again = {row["number"]: row["sha"] for row in rows}
    assert list(again) == [2, 3]
    assert not git.is_ancestor(groups[1], again[3])
    planned(queued, again[2])
    planned(queued, again[3])
    assert on_main(queued) == {"two", "three"}
    shown = queued.ask("bob", "GET", "~/pulls/1")
    assert (shown["merged"], shown["state"]) == (False, "open")


def test_merge_when_ready_joins_the_queue_and_no_merge_goes_past_it(queued: Scene) -> None:
    queue.enable_auto_merge(queued.github, REPOSITORY, 1, by="alice")
    approve(queued, 1)
    assert not queued.github.repository(REPOSITORY).queue
    planned(queued, head(queued, 1))
    (row,) = queued.github.repository(REPOSITORY).queue
    assert (row["number"], row["by"]) == (1, "alice")
    assert queued.answer("bob", "PUT", "~/pulls/1/merge")[0] == 405
    planned(queued, row["sha"])
    assert on_main(queued) == {"one"}


def test_a_base_that_moves_past_the_queue_makes_its_groups_anew(queued: Scene) -> None:
    approve(queued, 1)
    planned(queued, head(queued, 1))
    given_up = queue.enqueue(queued.github, REPOSITORY, 1, by="bob")
    queued.commit("main", {"hotfix": "x\n"})
    planned(queued, given_up)
    (row,) = queued.github.repository(REPOSITORY).queue
    assert row["sha"] != given_up
    assert on_main(queued) == {"hotfix"}
    planned(queued, row["sha"])
    assert on_main(queued) == {"hotfix", "one"}
