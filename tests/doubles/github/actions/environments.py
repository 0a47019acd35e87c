"""Deployment environments: which refs may use one.

Source: GitHub docs, "Managing environments for deployment", deployment branches and tags.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from tests.doubles.github.state import Environment, Repository, WorkflowRun


def refuses(environment: Environment, repository: Repository, run: WorkflowRun) -> bool:
    """Whether a run may not use an environment; its jobs there fail before they begin."""
    if not run.ref.startswith("refs/heads/"):
        return environment.branches is not None or environment.protected_branches
    branch = run.ref.removeprefix("refs/heads/")
    if environment.branches is not None:
        return not any(fnmatchcase(branch, pattern) for pattern in environment.branches)
    return environment.protected_branches and branch not in repository.protection
