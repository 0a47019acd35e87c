"""The workflows that ship, in GitHub's queue: who waits for whom, and who for nobody."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.adapters.forges.github.setup import GitHubChoices, workflow_files
from gitbot.adapters.working_tree import ShippedTexts
from tests.doubles.github.scene import REPOSITORY, Scene

CHOICES = GitHubChoices(repository=REPOSITORY, action=f"acme/gitbot@{'a' * 40}")


@pytest.fixture
def shipped(tmp_path: Path) -> Iterator[Scene]:
    made = Scene.make(tmp_path)
    made.commit("main", workflow_files(ShippedTexts().workflows(), CHOICES, cluster="prod"))
    made.ask("bob", "GET", "~")
    made.github.repository(REPOSITORY).runs.clear()  # what the arrival of the files started
    with made.server:
        yield made


def dispatch(scene: Scene, **inputs: str) -> None:
    body = {"ref": "main", "inputs": inputs}
    scene.ask("bob", "POST", "~/actions/workflows/reconcile.yml/dispatches", body)


def ready(scene: Scene) -> list[str]:
    """The groups of the jobs that may begin."""
    return [job.group for _, _, job in scene.github.actions.ready()]


def begin(scene: Scene) -> None:
    for repository, run, job in scene.github.actions.ready():
        scene.github.actions.begin(repository, run, job)


def waiting(scene: Scene) -> list[str]:
    runs = scene.github.repository(REPOSITORY).runs.values()
    return [job.group for run in runs for job in run.jobs if job.status == "pending"]


def test_one_pass_for_a_cluster_whatever_starts_it(shipped: Scene) -> None:
    dispatch(shipped)
    assert ready(shipped) == ["gitbot-apply-prod"]
    begin(shipped)
    shipped.commit("main", {"merged": "x\n"})
    shipped.ask("bob", "GET", "~")
    assert ready(shipped) == [""]  # the scan, which has no cluster and waits for nothing
    assert waiting(shipped) == ["gitbot-apply-prod"]  # that of the push


def test_a_diagnosis_neither_waits_for_a_pass_nor_takes_the_place_of_one(shipped: Scene) -> None:
    dispatch(shipped, doctor="false")
    begin(shipped)
    dispatch(shipped)
    assert ready(shipped) == []
    dispatch(shipped, doctor="true")
    assert ready(shipped) == ["gitbot-doctor-prod"]
    assert waiting(shipped) == ["gitbot-apply-prod"]


def test_hold_waits_for_nobody(shipped: Scene) -> None:
    shipped.pull()
    for repository, run, _ in shipped.github.actions.ready():
        shipped.github.actions.cancel(repository, run)
    dispatch(shipped)
    begin(shipped)
    dispatch(shipped)
    body = {"body": "/gitbot hold"}
    shipped.ask("bob", "POST", "~/issues/1/comments", body)
    shipped.ask("alice", "POST", "~/issues/1/comments", body)
    assert ready(shipped) == ["", ""]
