"""GitHub Actions without a runner: events make runs and jobs, groups hold them back.

Runs and their jobs are values in the state. A runner asks `Actions.ready`, calls `begin` and
`finish`, and stops a job that is `cancelling`. In a group one job runs and one waits; the next one
takes the place of the one that waits (GitHub docs, "Control the concurrency of workflows and
jobs"). Groups of whole runs have no effect here, because the runner takes one job after the other.
"""

from collections.abc import Iterator

from tests.doubles.github import queue, shapes
from tests.doubles.github.core import Core, Event
from tests.doubles.github.state import (
    ACTIONS_APP_ID,
    JSON,
    CheckRun,
    Job,
    Principal,
    Repository,
    WorkflowRun,
)
from tests.doubles.github.storage import BASE
from tests.doubles.github.workflows import (
    WorkflowFile,
    combinations,
    fill,
    is_due,
    permissions_of,
    read_workflow,
    read_workflows,
)


class Actions:
    """The queue of one GitHub. Nothing runs here: an executor begins and finishes jobs."""

    def __init__(self, github: Core) -> None:
        self._github = github
        self._told = github.clock.now()  # the time of the last tick

    # -- what starts ----------------------------------------------------------------------------

    def hear(self, event: Event) -> None:
        """Start what an event starts."""
        for file in read_workflows(event.repository, event.sha):
            if file.takes(event):
                self._start(event.repository, file, event)

    def _start(self, repository: Repository, file: WorkflowFile, event: Event) -> None:
        github = self._github
        payload = {
            **event.payload,
            "repository": shapes.repository(github, repository),
            "sender": shapes.user(github, event.by.login),
        }
        pull = payload.get("pull_request", {})
        # GitHub leaves out pull requests of forks
        pulls = [] if event.fork or not pull else [{"number": pull["number"]}]
        run = WorkflowRun(
            id=github.new_id(),
            run_number=1 + sum(1 for run in repository.runs.values() if run.path == file.path),
            event=event.name,
            name=file.content["name"],
            head_sha=pull["head"]["sha"] if pull else event.sha,
            pull_requests=pulls,
            actor=event.by.login,
            ref=event.ref,
            path=file.path,
            payload=payload,
            inputs=_typed(payload.get("inputs", {}), file),
            trusted=not event.fork,
            file_sha=event.sha,
        )
        repository.runs[run.id] = run
        for key, written in file.content["jobs"].items():
            for matrix in combinations(written):
                job = self._job(run, key, written, file.content, matrix)
                run.jobs.append(job)
                self._show(repository, run, job)

    def _context(self, run: WorkflowRun) -> JSON:
        """What expressions see."""
        return {"github": {"event": run.payload, "ref": run.ref}, "inputs": run.inputs}

    def _job(self, run: WorkflowRun, key: str, written: JSON, workflow: JSON, matrix: JSON) -> Job:
        context = {**self._context(run), "matrix": matrix}
        needs, rights = written.get("needs", []), permissions_of(written, workflow)
        return Job(
            id=self._github.new_id(),
            key=key,
            name=fill(written.get("name", key), context),
            needs=[needs] if isinstance(needs, str) else needs,
            matrix=matrix,
            environment=fill(_name_of(written.get("environment", "")), context),
            permissions=rights if run.trusted else dict.fromkeys(rights, "read"),
            group=fill(written.get("concurrency", {}).get("group", ""), context).lower(),
            created=self._github.clock.now(),
        )

    def _show(self, repository: Repository, run: WorkflowRun, job: Job) -> None:
        """Each job shows as a check run of its name on the head commit."""
        repository.check_runs[job.id] = CheckRun(
            id=job.id,
            name=job.name,
            head_sha=run.head_sha,
            app_id=ACTIONS_APP_ID,
            status=job.status if job.status in ("in_progress", "completed") else "queued",
            conclusion=job.conclusion,
            external_id=str(job.id),
            started_at=job.created,
            completed_at=job.completed,
        )

    def tick(self) -> None:
        """Fire every schedule that came due since the last look."""
        since, self._told = self._told, self._github.clock.now()
        for repository in list(self._github.state.repositories.values()):
            commit = repository.git.refs().get(BASE)
            for file in read_workflows(repository, commit) if commit else ():
                for row in file.on.get("schedule", {}).get("cron", ()):
                    if is_due(row["cron"], since, self._told):
                        owner = Principal(kind="user", login=repository.owner)
                        payload = {"schedule": row["cron"], "workflow": file.path}
                        self._github.publish("schedule", repository, owner, payload)

    # -- what may begin ---------------------------------------------------------------------------

    def ready(self) -> list[tuple[Repository, WorkflowRun, Job]]:
        """The jobs that may begin now, oldest first; of a group only one."""
        found = []
        taken: set[str] = set()
        for repository in self._github.state.repositories.values():
            for run in list(repository.runs.values()):
                for job in run.jobs:
                    if job.group not in taken and self._may_begin(repository, run, job):
                        taken |= {job.group} - {""}
                        found.append((repository, run, job))
        return found

    def _may_begin(self, repository: Repository, run: WorkflowRun, job: Job) -> bool:
        if job.status in ("in_progress", "completed") or any(
            other.key in job.needs and other.status != "completed" for other in run.jobs
        ):
            return False
        others = list(_jobs_of_group(repository, job))
        for other_run, other in others:
            if other.status == "pending" and other.id < job.id and job.status != "pending":
                self._cancel_job(repository, other_run, other)
        waits = any(
            other.status == "in_progress" or (other.status == "pending" and other.id < job.id)
            for _, other in others
        )
        job.status = "pending" if waits else "queued"
        return not waits

    # -- what an executor reports -----------------------------------------------------------------

    def begin(self, repository: Repository, run: WorkflowRun, job: Job) -> None:
        """A runner took the job."""
        job.status = run.status = "in_progress"
        self._show(repository, run, job)

    def finish(
        self,
        repository: Repository,
        run: WorkflowRun,
        job: Job,
        conclusion: str,
        outputs: dict[str, str] | None = None,
    ) -> None:
        """A job ended: success, failure, cancelled or skipped."""
        job.status, job.conclusion = "completed", conclusion
        job.completed = self._github.clock.now()
        job.outputs = outputs or {}
        self._show(repository, run, job)
        if run.status != "completed" and all(row.status == "completed" for row in run.jobs):
            words = [row.conclusion for row in run.jobs]
            run.status = "completed"
            run.conclusion = next((w for w in ("cancelled", "failure") if w in words), "success")
            shown = shapes.shown(self._github, run)
            payload = {"action": "completed", "workflow_run": shown}
            by = Principal(kind="user", login=run.actor)
            self._github.publish("workflow_run", repository, by, payload)
        queue.settle(self._github, repository)

    def cancel(self, repository: Repository, run: WorkflowRun) -> None:
        """Cancel a run: what did not begin never will, what runs is asked to stop."""
        for job in run.jobs:
            self._cancel_job(repository, run, job)

    def _cancel_job(self, repository: Repository, run: WorkflowRun, job: Job) -> None:
        if job.status == "in_progress":
            job.cancelling = True
        elif job.status != "completed":
            self.finish(repository, run, job, "cancelled")

    # -- what a runner needs ----------------------------------------------------------------------

    def file_of(self, repository: Repository, run: WorkflowRun) -> WorkflowFile:
        """The workflow file that a run runs."""
        return read_workflow(repository, run.file_sha, run.path)

    def secrets_of(self, repository: Repository, run: WorkflowRun, job: Job) -> dict[str, str]:
        """The secrets of a job: none for a fork's pull request."""
        environment = repository.environments.get(job.environment)
        return dict(environment.secrets) if run.trusted and environment else {}


def _jobs_of_group(repository: Repository, job: Job) -> Iterator[tuple[WorkflowRun, Job]]:
    for run in repository.runs.values():
        for other in run.jobs:
            if job.group and other.id != job.id and other.group == job.group:
                yield run, other


def _typed(inputs: JSON, file: WorkflowFile) -> JSON:
    """What expressions see as `inputs`: an input of type boolean is one, however it was sent."""
    declared = file.on.get("workflow_dispatch", {}).get("inputs", {})
    return {
        name: str(value).lower() == "true" if declared[name].get("type") == "boolean" else value
        for name, value in inputs.items()
    }


def _name_of(environment: str | JSON) -> str:
    """GitHub takes the name alone, or a mapping that has an address beside it."""
    return environment if isinstance(environment, str) else str(environment["name"])
