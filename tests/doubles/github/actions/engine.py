"""Runs and jobs: made by events, held back by concurrency groups and environments, ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.doubles.github import queue
from tests.doubles.github.actions import cron, environments, groups
from tests.doubles.github.actions.expressions import fill
from tests.doubles.github.actions.files import JobFile, WorkflowFile, read_workflow, read_workflows
from tests.doubles.github.actions.triggers import (
    LONGEST_CHAIN,
    ON_DEFAULT_BRANCH,
    may_start,
    starts,
)
from tests.doubles.github.core import Core
from tests.doubles.github.events import Event
from tests.doubles.github.shapes import actions as shapes
from tests.doubles.github.shapes import people
from tests.doubles.github.state import (
    ACTIONS_APP_ID,
    JSON,
    CheckRun,
    Job,
    Repository,
    WorkflowRun,
)

_ENDED = ("success", "failure", "cancelled", "skipped")


class Actions:
    """The queue of one GitHub. Nothing runs here: an executor begins and finishes jobs."""

    def __init__(self, github: Core) -> None:
        self._github = github
        self._told = github.clock.now()  # schedules were looked at until then

    # -- what starts ----------------------------------------------------------------------------

    def hear(self, event: Event) -> list[WorkflowRun]:
        """Start what an event starts."""
        repository = self._github.repository(event.repository)
        if not repository.options.actions_enabled or not may_start(event):
            return []
        commit = self._commit_of(repository, event)
        if not commit:
            return []
        files = read_workflows(repository, commit)
        return [self._start(repository, file, event) for file in files if self._takes(file, event)]

    def _takes(self, file: WorkflowFile, event: Event) -> bool:
        if event.name == "workflow_dispatch" and event.payload.get("workflow") != file.path:
            return False
        return starts(event, file)

    def _commit_of(self, repository: Repository, event: Event) -> str:
        """The commit whose files count: the default branch's, or what the event is about."""
        if event.name in ON_DEFAULT_BRANCH:
            return repository.git.resolve(f"refs/heads/{repository.default_branch}") or ""
        return event.sha if repository.git.kind(event.sha) == "commit" else ""

    def _start(self, repository: Repository, file: WorkflowFile, event: Event) -> WorkflowRun:
        github = self._github
        known = repository.workflow_ids
        workflow_id = known.setdefault(file.path, 0) or github.new_id()
        known[file.path] = workflow_id
        number = 1 + sum(1 for run in repository.runs.values() if run.path == file.path)
        run = WorkflowRun(
            id=github.new_id(),
            workflow_id=workflow_id,
            number=number,
            event=event.name,
            name=file.name,
            path=file.path,
            head_branch=_head_branch(event),
            head_sha=_head_sha(event),
            ref=event.ref,
            actor=event.actor,
            created=github.clock.now(),
            updated=github.clock.now(),
            head_repository=_head_repository(repository, event),
            number_of_pull=event.number,
            payload=event.payload,
            inputs=_typed(event.payload.get("inputs") or {}, file),
            trusted=not event.fork,
            chain=event.payload.get("chain", 0),
            file_sha=event.sha if event.name not in ON_DEFAULT_BRANCH else file.commit,
        )
        context = self.context(repository, run)
        run.group, run.cancel_in_progress = fill(file.group, context), file.cancel_in_progress
        repository.runs[run.id] = run
        for row in file.jobs:
            for matrix in row.matrix:
                job = self._job(repository, run, file, row, matrix)
                run.jobs.append(job)
                self._check(repository, run, job)
        self._enter(repository, run)
        self._tell(repository, run, "requested")
        return run

    def _job(
        self,
        repository: Repository,
        run: WorkflowRun,
        file: WorkflowFile,
        row: JobFile,
        matrix: JSON,
    ) -> Job:
        context = {**self.context(repository, run), "matrix": matrix}
        return Job(
            id=self._github.new_id(),
            run_id=run.id,
            key=row.key,
            name=fill(row.name, context),
            needs=row.needs,
            matrix=matrix,
            environment=fill(row.environment, context),
            permissions=self._permissions(repository, run, file, row),
            group=fill(row.group, context),
            cancel_in_progress=row.cancel_in_progress,
            created=self._github.clock.now(),
        )

    def _check(self, repository: Repository, run: WorkflowRun, job: Job) -> None:
        """Each job shows as a check run of its name on the head commit."""
        check = repository.check_runs.get(job.id)
        if check is None:
            repository.check_runs[job.id] = check = CheckRun(
                id=job.id,
                suite_id=run.id,
                name=job.name,
                sha=run.head_sha,
                app_id=ACTIONS_APP_ID,
                status="queued",
                conclusion=None,
                external_id=str(job.id),
                details_url="",
                started=job.created,
            )
        check.status = job.status if job.status in ("in_progress", "completed") else "queued"
        check.conclusion, check.completed = job.conclusion, job.completed

    def _permissions(
        self, repository: Repository, run: WorkflowRun, file: WorkflowFile, row: JobFile
    ) -> dict[str, str]:
        asked = row.permissions if row.permissions is not None else file.permissions
        if asked is None:
            level = repository.options.workflow_permissions
            asked = {"contents": "read", "packages": "read"}
            if level == "write":
                asked = dict.fromkeys(("contents", "issues", "pull_requests", "checks"), "write")
        held = {name: level for name, level in asked.items() if level != "none"}
        if not run.trusted:
            held = {name: "read" for name in held if name != "id_token"}
        return held

    def context(self, repository: Repository, run: WorkflowRun) -> dict[str, Any]:
        """What expressions see."""
        return {
            "github": {
                "event": run.payload,
                "event_name": run.event,
                "ref": run.ref,
                "ref_name": run.ref.removeprefix("refs/heads/"),
                "sha": run.file_sha,
                "workflow": run.name,
                "repository": repository.full_name,
                "run_id": run.id,
                "head_ref": run.head_branch if run.event == "pull_request" else "",
                "actor": run.actor,
            },
            "inputs": run.inputs,
            "vars": repository.variables,
        }

    # -- what may begin ---------------------------------------------------------------------------

    def _enter(self, repository: Repository, run: WorkflowRun) -> None:
        for other in groups.displaced_runs(repository, run):
            self.cancel(repository, other)
        if groups.run_waits(repository, run):
            run.status = "pending"

    def ready(self) -> list[tuple[Repository, WorkflowRun, Job]]:
        """The jobs that may begin now, oldest first; of a group only one."""
        found = []
        taken: set[str] = set()
        for repository in self._github.state.repositories.values():
            for run in sorted(repository.runs.values(), key=lambda row: row.id):
                if run.status == "pending" and not groups.run_waits(repository, run):
                    run.status = "queued"
                if run.status in ("completed", "pending"):
                    continue
                for job in run.jobs:
                    if job.group.lower() not in taken and self._may_begin(repository, run, job):
                        taken |= {job.group.lower()} - {""}
                        found.append((repository, run, job))
        return found

    def _may_begin(self, repository: Repository, run: WorkflowRun, job: Job) -> bool:
        if job.status in ("in_progress", "completed") or any(
            other.key in job.needs and other.status != "completed" for other in run.jobs
        ):
            return False
        environment = repository.environments.get(job.environment)
        if environment is not None and environments.refuses(environment, repository, run):
            self.finish(repository, run, job, "failure")
            return False
        if environment is not None and not job.approved:
            over = self._github.clock.now() >= job.created + 60 * environment.wait_timer
            if environment.reviewers or not over:
                job.status = "waiting"
                return False
        for other_run, other in groups.displaced_jobs(repository, job):
            self._cancel_job(repository, other_run, other)
        job.status = "pending" if groups.job_waits(repository, job) else "queued"
        return job.status == "queued"

    # -- what an executor reports -----------------------------------------------------------------

    def begin(self, repository: Repository, run: WorkflowRun, job: Job) -> None:
        """A runner took the job."""
        now = self._github.clock.now()
        job.status, job.started = "in_progress", now
        self._check(repository, run, job)
        run.status, run.updated = "in_progress", now

    def finish(
        self,
        repository: Repository,
        run: WorkflowRun,
        job: Job,
        conclusion: str,
        outputs: dict[str, str] | None = None,
    ) -> None:
        """A job ended: success, failure, cancelled or skipped."""
        assert conclusion in _ENDED, conclusion
        job.status, job.conclusion = "completed", conclusion
        job.completed = self._github.clock.now()
        job.outputs = outputs or {}
        self._check(repository, run, job)
        self._settle(repository, run)
        queue.settle(self._github, repository)

    def _settle(self, repository: Repository, run: WorkflowRun) -> None:
        if run.status == "completed" or any(job.status != "completed" for job in run.jobs):
            return
        words = {job.conclusion for job in run.jobs}
        run.status, run.updated = "completed", self._github.clock.now()
        run.conclusion = next(
            (word for word in ("cancelled", "failure") if word in words),
            "skipped" if words == {"skipped"} else "success",
        )
        self._tell(repository, run, "completed")

    def cancel(self, repository: Repository, run: WorkflowRun) -> None:
        """Cancel a run: what did not begin never will, what runs is asked to stop."""
        for job in run.jobs:
            self._cancel_job(repository, run, job)
        if not run.jobs:
            run.status, run.conclusion = "completed", "cancelled"

    def _cancel_job(self, repository: Repository, run: WorkflowRun, job: Job) -> None:
        if job.status == "in_progress":
            job.cancelling = True
        elif job.status != "completed":
            self.finish(repository, run, job, "cancelled")

    def _tell(self, repository: Repository, run: WorkflowRun, action: str) -> None:
        """Publish workflow_run, which other workflows may wait for."""
        if run.chain >= LONGEST_CHAIN:
            return
        github = self._github
        links, state = github.links, github.state
        branch = repository.default_branch
        payload = {
            "action": action,
            "workflow_run": shapes.run(links, state, repository, run),
            "workflow": shapes.workflow(links, repository, run.path, run.name),
            "repository": people.repository(links, state, repository),
            "sender": people.user(links, github.add_account(run.actor)),
            "chain": run.chain + 1,
        }
        github.publish(
            Event(
                name="workflow_run",
                action=action,
                repository=repository.full_name,
                actor=run.actor,
                time=github.clock.now(),
                sha=repository.git.resolve(f"refs/heads/{branch}") or "",
                ref=f"refs/heads/{branch}",
                payload=payload,
            )
        )

    # -- time and hands ---------------------------------------------------------------------------

    def tick(self) -> None:
        """Fire every schedule that came due since the last look."""
        now = self._github.clock.now()
        since, self._told = self._told, now
        for repository in list(self._github.state.repositories.values()):
            commit = repository.git.resolve(f"refs/heads/{repository.default_branch}")
            for file in read_workflows(repository, commit) if commit else ():
                for row in (file.on.get("schedule") or {}).get("cron", ()):
                    if any(True for _ in cron.due(row["cron"], since, now)):
                        self._scheduled(repository, row["cron"], commit or "")

    def _scheduled(self, repository: Repository, line: str, commit: str) -> None:
        github = self._github
        payload = {
            "schedule": line,
            "repository": people.repository(github.links, github.state, repository),
            "sender": people.user(github.links, github.add_account(repository.owner)),
        }
        github.publish(
            Event(
                name="schedule",
                repository=repository.full_name,
                actor=repository.owner,
                time=github.clock.now(),
                sha=commit,
                ref=f"refs/heads/{repository.default_branch}",
                payload=payload,
            )
        )

    def file_of(self, repository: Repository, run: WorkflowRun) -> WorkflowFile:
        """The workflow file that a run runs."""
        data = repository.git.blob(f"{run.file_sha}:{run.path}")
        return replace(read_workflow(run.path, data), commit=run.file_sha)

    def secrets_of(self, repository: Repository, run: WorkflowRun, job: Job) -> dict[str, str]:
        """The secrets of a job: none for a fork's pull request."""
        if not run.trusted:
            return {}
        environment = repository.environments.get(job.environment)
        return {**repository.secrets, **(environment.secrets if environment else {})}

    def variables_of(self, repository: Repository, job: Job) -> dict[str, str]:
        """The variables of a job."""
        environment = repository.environments.get(job.environment)
        return {**repository.variables, **(environment.variables if environment else {})}


def _typed(inputs: JSON, file: WorkflowFile) -> JSON:
    """What expressions see as `inputs`: an input of type boolean is one, however it was sent."""
    declared = (file.on.get("workflow_dispatch") or {}).get("inputs") or {}
    booleans = {name for name, row in declared.items() if (row or {}).get("type") == "boolean"}
    return {
        name: str(value).lower() == "true" if name in booleans else value
        for name, value in inputs.items()
    }


def _head_sha(event: Event) -> str:
    if event.name in ("pull_request", "pull_request_target"):
        return str(event.payload["pull_request"]["head"]["sha"])
    return event.sha


def _head_branch(event: Event) -> str:
    if event.name.startswith("pull_request") and "pull_request" in event.payload:
        return str(event.payload["pull_request"]["head"]["ref"])
    return event.ref.removeprefix("refs/heads/")


def _head_repository(repository: Repository, event: Event) -> str:
    if event.name.startswith("pull_request") and "pull_request" in event.payload:
        head = event.payload["pull_request"]["head"]["repo"]
        return str(head["full_name"]) if head else ""
    return repository.full_name
