"""Which event starts which workflow, what its jobs may do, and how they wait for one another."""

from __future__ import annotations

from typing import Any

import pytest

from tests.doubles.github import queue
from tests.doubles.github.actions import cron
from tests.doubles.github.actions.expressions import fill
from tests.doubles.github.problems import Problem
from tests.doubles.github.state import Environment, Job, WorkflowRun
from tests.unit.doubles.github.scene import REPOSITORY, Scene

PLAN = """
name: plan
on:
  pull_request:
    branches: [main]
  merge_group:
permissions: {}
concurrency:
  group: plan-${{ github.event.pull_request.number || github.ref }}
  cancel-in-progress: true
jobs:
  plan:
    name: plan (${{ matrix.cluster }})
    runs-on: ubuntu-latest
    permissions: {contents: read, pull-requests: write}
    strategy:
      matrix:
        cluster: [iberia, nordic]
    steps: [{run: echo}]
"""
SHOW = """
name: show
on:
  workflow_run:
    workflows: [plan]
    types: [completed]
jobs:
  show:
    runs-on: ubuntu-latest
    environment: gitbot
    permissions: {checks: write}
    steps: [{run: echo}]
"""
APPLY = """
name: apply
on:
  push:
    branches: [main]
  workflow_dispatch:
  schedule:
    - cron: "7,37 * * * *"
jobs:
  apply:
    runs-on: ubuntu-latest
    concurrency: apply
    steps: [{run: echo}]
  after:
    needs: apply
    runs-on: ubuntu-latest
    steps: [{run: echo}]
"""
COMMENT = """
name: comment
on:
  issue_comment:
    types: [created]
jobs:
  comment:
    runs-on: ubuntu-latest
    steps: [{run: echo}]
"""


@pytest.fixture
def ready(scene: Scene) -> Scene:
    """The workflows are on main; what their arrival started is over."""
    texts = {"plan": PLAN, "show": SHOW, "apply": APPLY, "comment": COMMENT}
    files = {f".github/workflows/{name}.yml": text for name, text in texts.items()}
    scene.commit("main", files)
    scene.ask("bob", "GET", "~")
    finish_all(scene)
    scene.github.repository(REPOSITORY).runs.clear()
    return scene


def runs(scene: Scene) -> list[WorkflowRun]:
    return [run for _, run in sorted(scene.github.repository(REPOSITORY).runs.items())]


def names(scene: Scene) -> list[tuple[str, str, str]]:
    return [(run.name, run.event, run.status) for run in runs(scene)]


def begin(scene: Scene) -> list[Job]:
    """Begin everything that may; what then runs."""
    begun = []
    for repository, run, job in scene.github.actions.ready():
        scene.github.actions.begin(repository, run, job)
        begun.append(job)
    return begun


def finish_all(scene: Scene, conclusion: str = "success") -> None:
    for _ in range(10):
        begin(scene)
        for repository in scene.github.state.repositories.values():
            for run in list(repository.runs.values()):
                for job in run.jobs:
                    if job.status == "in_progress":
                        scene.github.actions.finish(repository, run, job, conclusion)


def test_a_pull_request_starts_plan_and_its_end_starts_show(ready: Scene) -> None:
    ready.pull()
    assert names(ready) == [("plan", "pull_request", "queued")]
    jobs = runs(ready)[0].jobs
    assert [job.name for job in jobs] == ["plan (iberia)", "plan (nordic)"]
    assert jobs[0].permissions == {"contents": "read", "pull_requests": "write"}
    finish_all(ready)
    assert [row[0] for row in names(ready)] == ["plan", "show"]
    shown = runs(ready)[1]
    assert (shown.ref, shown.payload["workflow_run"]["event"]) == (
        "refs/heads/main",
        "pull_request",
    )
    assert shown.payload["workflow_run"]["conclusion"] == "success"


def test_what_a_job_does_starts_nothing_but_dispatches(ready: Scene) -> None:
    ready.github.repository(REPOSITORY).options.actions_may_approve = True
    rights = {"contents": "write", "pull_requests": "write", "actions": "write", "issues": "write"}
    token = ready.github.job_token(REPOSITORY, rights)
    ready.pull(by=token)
    ready.ask(token, "POST", "~/issues/1/comments", {"body": "/gitbot plan"})
    ready.ask(token, "PUT", "~/pulls/1/merge")
    assert names(ready) == []
    ready.ask(token, "POST", "~/actions/workflows/apply.yml/dispatches", {"ref": "main"})
    assert names(ready) == [("apply", "workflow_dispatch", "queued")]


def test_actions_may_not_open_pull_requests_unless_allowed(ready: Scene) -> None:
    ready.commit("work", {"a": "1"})
    token = ready.github.job_token(REPOSITORY, {"pull_requests": "write"})
    body = {"head": "work", "base": "main", "title": "t"}
    code, answer = ready.answer(token, "POST", "~/pulls", body)
    assert code == 403
    assert answer["message"] == (
        "GitHub Actions is not permitted to create or approve pull requests."
    )
    ready.github.add_collaborator(REPOSITORY, "owner", "admin")
    ready.tokens["owner"] = ready.github.personal_token("owner")
    allowed = {"can_approve_pull_request_reviews": True}
    ready.ask("owner", "PUT", "~/actions/permissions/workflow", allowed)
    shown = ready.ask("owner", "GET", "~/actions/permissions/workflow")
    assert shown["can_approve_pull_request_reviews"] is True
    assert ready.ask(token, "POST", "~/pulls", body)["user"]["login"] == "github-actions[bot]"


def test_a_fork_gets_no_secret_and_no_right_to_write(ready: Scene) -> None:
    repository = ready.github.repository(REPOSITORY)
    repository.secrets["KEY"] = "secret"
    ready.github.fork(REPOSITORY, "mallory")
    ready.commit("work", {"a": "1"}, repository="mallory/placement")
    ready.tokens["mallory"] = ready.github.personal_token("mallory")
    body = {"head": "mallory:work", "base": "main", "title": "t"}
    pull = ready.ask("mallory", "POST", "~/pulls", body)
    assert pull["head"]["repo"]["full_name"] == "mallory/placement"
    run = runs(ready)[0]
    assert run.trusted is False
    assert run.jobs[0].permissions == {"contents": "read", "pull_requests": "read"}
    actions = ready.github.actions
    assert actions.secrets_of(repository, run, run.jobs[0]) == {}
    ready.commit("work", {"b": "1"}, repository="mallory/placement")
    ready.ask("bob", "GET", "~/pulls/1")
    plans = [row for row in runs(ready) if row.name == "plan"]
    assert [row.trusted for row in plans] == [False, False]
    finish_all(ready)
    show = runs(ready)[-1]
    assert actions.secrets_of(repository, show, show.jobs[0]) == {"KEY": "secret"}


def test_comments_run_the_file_of_the_default_branch(ready: Scene) -> None:
    ready.commit("work", {".github/workflows/comment.yml": None, "a": "1"})
    ready.ask("bob", "POST", "~/pulls", {"head": "work", "base": "main", "title": "t"})
    ready.ask("bob", "POST", "~/issues/1/comments", {"body": "/gitbot hold"})
    run = runs(ready)[-1]
    assert (run.name, run.payload["comment"]["body"], run.payload["issue"]["number"]) == (
        "comment", "/gitbot hold", 1,
    )  # fmt: skip


def test_a_newer_push_cancels_the_older_plan(ready: Scene) -> None:
    ready.pull()
    begin(ready)
    ready.commit("work", {"more": "1"})
    ready.ask("bob", "GET", "~/pulls/1")
    older, newer = runs(ready)
    assert [job.cancelling for job in older.jobs] == [True, True]
    assert newer.status == "pending"
    for job in older.jobs:
        repository = ready.github.repository(REPOSITORY)
        ready.github.actions.finish(repository, older, job, "cancelled")
    assert older.conclusion == "cancelled"
    assert [job.name for job in begin(ready) if job.run_id == newer.id] == [
        "plan (iberia)",
        "plan (nordic)",
    ]


def test_one_runs_and_one_waits_in_a_group(ready: Scene) -> None:
    for _ in range(3):
        ready.ask("bob", "POST", "~/actions/workflows/apply.yml/dispatches", {"ref": "main"})
        begin(ready)
    states = [(run.jobs[0].status, run.jobs[0].conclusion) for run in runs(ready)]
    assert states == [("in_progress", None), ("completed", "cancelled"), ("pending", None)]
    repository = ready.github.repository(REPOSITORY)
    first = runs(ready)[0]
    ready.github.actions.finish(repository, first, first.jobs[0], "failure")
    begin(ready)
    assert runs(ready)[2].jobs[0].status == "in_progress"
    assert first.jobs[1].status == "in_progress"  # it needs the other only to have ended


def test_runs_are_read_and_cancelled_by_the_api(ready: Scene) -> None:
    ready.ask("bob", "POST", "~/actions/workflows/apply.yml/dispatches", {"ref": "main"})
    listed = ready.ask("bob", "GET", "~/actions/runs")
    assert (listed["total_count"], listed["workflow_runs"][0]["name"]) == (1, "apply")
    identity = listed["workflow_runs"][0]["id"]
    jobs = ready.ask("bob", "GET", f"~/actions/runs/{identity}/jobs")
    assert [job["name"] for job in jobs["jobs"]] == ["apply", "after"]
    ready.ask("bob", "POST", f"~/actions/runs/{identity}/cancel")
    assert ready.ask("bob", "GET", f"~/actions/runs/{identity}")["conclusion"] == "cancelled"
    assert ready.answer("bob", "POST", f"~/actions/runs/{identity}/cancel")[0] == 409
    assert ready.ask("bob", "GET", "~/actions/workflows/apply.yml")["name"] == "apply"
    assert ready.ask("bob", "GET", "~/actions/workflows")["total_count"] == 4


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"ref": "nowhere"}, "No ref found for: nowhere"),
        ({"ref": "main", "inputs": {"a": "1"}}, "Unexpected inputs provided: ['a']"),
    ],
)
def test_dispatches_that_are_refused(ready: Scene, body: dict[str, Any], said: str) -> None:
    where = "~/actions/workflows/apply.yml/dispatches"
    code, answer = ready.answer("bob", "POST", where, body)
    assert (code, answer["message"]) == (422, said)
    assert ready.answer("bob", "POST", "~/actions/workflows/none.yml/dispatches", body)[0] == 404
    weak = ready.github.job_token(REPOSITORY, {"contents": "write"})
    assert ready.answer(weak, "POST", where, {"ref": "main"})[0] == 403


def test_schedules(ready: Scene) -> None:
    ready.clock.sleep(6 * 60)
    ready.github.actions.tick()
    assert names(ready) == []
    ready.clock.sleep(60)
    ready.github.actions.tick()
    ready.github.actions.tick()
    assert names(ready) == [("apply", "schedule", "queued")]


def test_an_environment_makes_a_job_wait(ready: Scene) -> None:
    repository = ready.github.repository(REPOSITORY)
    repository.environments["gitbot"] = Environment(
        id=1, name="gitbot", created=0, reviewers=("alice",), secrets={"APP": "key"}
    )
    ready.pull()
    finish_all(ready)
    show = runs(ready)[1]
    assert [job.status for job in show.jobs] == ["waiting"]
    show.jobs[0].approved = True
    assert begin(ready) == show.jobs
    assert ready.github.actions.secrets_of(repository, show, show.jobs[0]) == {"APP": "key"}
    shown = ready.ask("bob", "GET", "~/environments/gitbot")
    assert shown["protection_rules"][0]["reviewers"][0]["reviewer"]["login"] == "alice"


def test_a_merge_group_is_checked_and_merged(ready: Scene) -> None:
    repository = ready.github.repository(REPOSITORY)
    rules = [
        {"type": "merge_queue"},
        {
            "type": "required_status_checks",
            "parameters": {"required_status_checks": [{"context": "plan (iberia)"}]},
        },
    ]
    names_ = {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}}
    repository.rulesets[1] = {
        "name": "queue", "enforcement": "active", "conditions": names_, "rules": rules,
    }  # fmt: skip
    ready.pull()
    finish_all(ready)
    assert ready.answer("bob", "PUT", "~/pulls/1/merge")[0] == 405
    commit = queue.enqueue(ready.github, REPOSITORY, 1, by="bob")
    plan = next(run for run in runs(ready) if run.event == "merge_group")
    assert plan.head_sha == commit
    finish_all(ready)
    shown = ready.ask("bob", "GET", "~/pulls/1")
    assert (shown["merged"], shown["merge_commit_sha"]) == (True, commit)
    assert repository.git.resolve("main") == commit


def test_auto_merge_waits_for_its_conditions(ready: Scene) -> None:
    ready.pull()
    with pytest.raises(Problem, match="Auto merge is not allowed"):
        queue.enable_auto_merge(ready.github, REPOSITORY, 1, by="bob")
    repository = ready.github.repository(REPOSITORY)
    repository.options.auto_merge = True
    ready.github.add_collaborator(REPOSITORY, "owner", "admin")
    ready.tokens["owner"] = ready.github.personal_token("owner")
    protection = {
        "required_status_checks": None,
        "enforce_admins": True,
        "required_pull_request_reviews": {"required_approving_review_count": 1},
        "restrictions": None,
    }
    ready.ask("owner", "PUT", "~/branches/main/protection", protection)
    queue.enable_auto_merge(ready.github, REPOSITORY, 1, by="alice")
    shown = ready.ask("bob", "GET", "~/pulls/1")
    assert (shown["merged"], shown["auto_merge"]["enabled_by"]["login"]) == (False, "alice")
    ready.ask("bob", "POST", "~/pulls/1/reviews", {"event": "APPROVE"})
    assert ready.ask("bob", "GET", "~/pulls/1")["merged"] is True


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("a-${{ github.ref }}", "a-refs/heads/main"),
        ("${{ github.event.pull_request.number || github.ref }}", "7"),
        ("${{ github.event.nothing.here || 'none' }}", "none"),
        ("${{ github.ref == 'refs/heads/main' && 'yes' || 'no' }}", "yes"),
        ("${{ !github.event.nothing }}", "true"),
    ],
)
def test_expressions(text: str, filled: str) -> None:
    context = {"github": {"ref": "refs/heads/main", "event": {"pull_request": {"number": 7}}}}
    assert fill(text, context) == filled


@pytest.mark.parametrize(
    ("line", "minutes"),
    [
        ("7,17,27 * * * *", [7, 17, 27]),
        ("*/20 15 * * *", [20, 40, 60]),  # 15:00 is where the hour starts, 16:00 is not in it
        ("0 16 * * 6", [60]),
        ("0 16 * * 1-5", []),
    ],
)
def test_cron(line: str, minutes: list[int]) -> None:
    start = 1_795_273_200  # Saturday, 15:00 UTC
    wanted = [start + 60 * minute for minute in minutes if line != "*/20 15 * * *" or minute < 60]
    assert list(cron.due(line, start, start + 3600)) == wanted
