"""Check runs: who may write them, annotations in chunks, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.doubles.github.scene import REPOSITORY, Scene

NOTE = {
    "path": "work.txt",
    "start_line": 1,
    "end_line": 1,
    "annotation_level": "failure",
    "message": "no",
}


def job(scene: Scene, **permissions: str) -> str:
    return scene.github.job_token(REPOSITORY, permissions)


def run(scene: Scene, token: str, **more: Any) -> tuple[int, Any]:
    sha = scene.pull()["head"]["sha"]
    body = {"name": "gitbot/plan", "head_sha": sha, "external_id": "x", **more}
    return scene.answer(token, "POST", "~/check-runs", body)


def test_a_personal_token_writes_no_check_run(scene: Scene) -> None:
    code, answer = run(scene, scene.tokens["alice"])
    assert (code, answer["message"]) == (403, "You must authenticate via a GitHub App.")


def test_a_job_needs_the_permission(scene: Scene) -> None:
    code, answer = run(scene, job(scene, contents="write"))
    assert (code, answer["message"]) == (403, "Resource not accessible by integration")
    token = job(scene, checks="write")
    made = scene.ask(token, "POST", "~/check-runs", {"name": "a", "head_sha": "main"})
    assert (made["app"]["slug"], made["status"], made["conclusion"]) == (
        "github-actions", "queued", None,
    )  # fmt: skip


def test_annotations_come_in_chunks_of_fifty(scene: Scene) -> None:
    token = job(scene, checks="write")
    output = {"title": "t", "summary": "s", "annotations": [NOTE] * 51}
    code, answer = run(scene, token, conclusion="failure", output=output)
    assert code == 422
    assert answer["errors"][0]["field"] == "annotations"
    output["annotations"] = [NOTE] * 50
    sha = scene.ask("bob", "GET", "~/pulls/1")["head"]["sha"]
    body = {"name": "a", "head_sha": sha, "conclusion": "failure", "output": output}
    made = scene.ask(token, "POST", "~/check-runs", body)
    where = f"~/check-runs/{made['id']}"
    scene.ask(token, "PATCH", where, {"output": {**output, "annotations": [NOTE] * 10}})
    assert scene.ask("bob", "GET", where)["output"]["annotations_count"] == 60
    second = scene.ask("bob", "GET", f"{where}/annotations", per_page="50", page="2")
    assert len(second) == 10


@pytest.mark.parametrize(
    ("note", "field"),
    [
        ({"annotation_level": "error"}, "annotation_level"),
        ({"message": ""}, "annotations.message"),
        ({"path": None}, "annotations.path"),
    ],
)
def test_annotations_that_are_refused(scene: Scene, note: dict[str, Any], field: str) -> None:
    output = {"title": "t", "summary": "s", "annotations": [{**NOTE, **note}]}
    code, answer = run(scene, job(scene, checks="write"), output=output)
    assert (code, answer["errors"][0]["field"]) == (422, field)


def test_the_newest_run_of_a_name_is_listed(scene: Scene) -> None:
    token = job(scene, checks="write")
    for conclusion in ("failure", "success"):
        body = {"name": "gitbot/plan", "head_sha": "main", "conclusion": conclusion}
        scene.ask(token, "POST", "~/check-runs", body)
    listed = scene.ask("bob", "GET", "~/commits/main/check-runs", check_name="gitbot/plan")
    assert (listed["total_count"], listed["check_runs"][0]["conclusion"]) == (1, "success")
    everything = scene.ask("bob", "GET", "~/commits/main/check-runs", filter="all")
    assert everything["total_count"] == 2
    suites = scene.ask("bob", "GET", "~/commits/main/check-suites")
    assert [suite["latest_check_runs_count"] for suite in suites["check_suites"]] == [2]


def test_long_texts_are_refused(scene: Scene) -> None:
    output = {"title": "t", "summary": "x" * 65_536}
    code, answer = run(scene, job(scene, checks="write"), output=output)
    assert (code, answer["errors"][0]["field"]) == (422, "summary")
