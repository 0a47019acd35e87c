"""Concurrency groups: one runs and one waits; who comes next takes the place of who waits.

Source: GitHub docs, "Control the concurrency of workflows and jobs". Group names ignore case.
"""

from __future__ import annotations

from tests.doubles.github.state import Job, Repository, WorkflowRun


def displaced_runs(repository: Repository, run: WorkflowRun) -> list[WorkflowRun]:
    """The runs that a new run of a group cancels."""
    return [
        other
        for other in _unfinished(repository, run)
        if other.status == "pending" or run.cancel_in_progress
    ]


def run_waits(repository: Repository, run: WorkflowRun) -> bool:
    """Whether another run of the group is under way."""
    return any(other.status != "pending" for other in _unfinished(repository, run))


def _unfinished(repository: Repository, run: WorkflowRun) -> list[WorkflowRun]:
    return [
        other
        for other in repository.runs.values()
        if run.group
        and other.group.lower() == run.group.lower()
        and other.id != run.id
        and other.status != "completed"
    ]


def displaced_jobs(repository: Repository, job: Job) -> list[tuple[WorkflowRun, Job]]:
    """The jobs that a job cancels as it comes to its group."""
    if job.status == "pending":
        return []
    return [
        (run, other)
        for run, other in _others(repository, job)
        if (other.status == "pending" and other.id < job.id)
        or (other.status == "in_progress" and job.cancel_in_progress)
    ]


def job_waits(repository: Repository, job: Job) -> bool:
    """Whether another job of the group runs, or waited before this one."""
    return any(
        other.status == "in_progress" or (other.status == "pending" and other.id < job.id)
        for _, other in _others(repository, job)
    )


def _others(repository: Repository, job: Job) -> list[tuple[WorkflowRun, Job]]:
    return [
        (run, other)
        for run in repository.runs.values()
        for other in run.jobs
        if job.group and other.id != job.id and other.group.lower() == job.group.lower()
    ]
