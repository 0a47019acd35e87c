"""Auto-merge and the merge queue: a merge that happens when its conditions come true.

GitHub offers both only through its pages and GraphQL; here a test calls a function.
"""

from tests.doubles.github import merging, protection
from tests.doubles.github.core import Core
from tests.doubles.github.problems import Problem
from tests.doubles.github.state import JSON, Principal, Pull, Repository

# As a job, because its pushes start no workflow.
QUEUE = Principal(kind="job", login="github-merge-queue[bot]")


def enable_auto_merge(
    github: Core, full_name: str, number: int, *, by: str, method: str = "merge"
) -> None:
    """Merge as soon as reviews and checks allow."""
    repository = github.repository(full_name)
    pull = repository.pulls[number]
    pull.auto_merge, pull.auto_merge_method = by, method
    settle(github, repository)


def enqueue(github: Core, full_name: str, number: int) -> str:
    """Put a pull request into the merge queue; returns the commit that is checked for it."""
    repository = github.repository(full_name)
    pull = repository.pulls[number]
    refusal = protection.refusal_of_rules(github, repository, pull)
    if refusal is not None:
        raise Problem(422, refusal)
    return _add(github, repository, pull)


def _add(github: Core, repository: Repository, pull: Pull) -> str:
    """A group of one, on top of what waits already."""
    waiting = [row["sha"] for row in repository.queue if row["base"] == pull.base]
    merging.look_at(github, repository, pull)
    base = waiting[-1] if waiting else pull.base_sha
    message = f"Merge pull request #{pull.number} from {pull.head_branch}\n\n{pull.title}"
    commit = repository.git.merge(base, pull.head, message=message, time=github.clock.now())
    if commit is None:
        raise Problem(422, "Pull request has merge conflicts with the queue")
    ref = f"refs/heads/gh-readonly-queue/{pull.base}/pr-{pull.number}-{base}"
    repository.git.set_ref(ref, commit)
    row = {"number": pull.number, "base": pull.base, "sha": commit, "ref": ref}
    repository.queue.append(row)
    merging.notice(github, QUEUE)
    group = {"head_sha": commit, "head_ref": ref, "base_ref": f"refs/heads/{pull.base}"}
    payload = {"action": "checks_requested", "merge_group": group}
    by = Principal(kind="user", login=QUEUE.login)
    github.publish("merge_group", repository, by, payload, sha=commit, ref=ref)
    return commit


def settle(github: Core, repository: Repository) -> None:
    """Merge what may be merged by now: auto-merge, and the head of the queue."""
    for pull in list(repository.pulls.values()):
        if pull.auto_merge and not pull.closed_at:
            _settle_auto(github, repository, pull)
    for base in sorted({row["base"] for row in repository.queue}):
        _follow(github, repository, base)
    while repository.queue and _settle_group(github, repository, repository.queue[0]):
        pass


def _follow(github: Core, repository: Repository, base: str) -> None:
    """A base that moved past its queue makes every group of it again."""
    first = next(row for row in repository.queue if row["base"] == base)
    tip = repository.git.resolve(f"refs/heads/{base}") or ""
    if not repository.git.is_ancestor(tip, first["sha"]):
        _build_again(github, repository, base)


def _settle_auto(github: Core, repository: Repository, pull: Pull) -> None:
    """Merge if the rules allow it, or join the queue of the branch ("merge when ready")."""
    merging.look_at(github, repository, pull)
    refusal = protection.refusal_of_rules(github, repository, pull)
    if not pull.merge_commit_sha or refusal is not None:
        return
    if protection.rules_of(repository, pull.base).queue:
        pull.auto_merge = ""
        _add(github, repository, pull)
        return
    by = Principal(kind="user", login=pull.auto_merge)
    merging.merge(github, repository, pull, by=by, method=pull.auto_merge_method)
    merging.notice(github, by)


def _settle_group(github: Core, repository: Repository, row: JSON) -> bool:
    """Whether the first group of the queue ended: merged, or thrown out by a failing check."""
    pull = repository.pulls[row["number"]]
    states = protection.states_of_checks(repository, row["base"], row["sha"]).values()
    failed = "failure" in states
    if not failed and any(state != "success" for state in states):
        return False
    _leave(repository, row)
    if failed:
        _build_again(github, repository, row["base"])
        return True
    merging.look_at(github, repository, pull)
    merging.finish(github, repository, pull, row["sha"], QUEUE.login)
    merging.notice(github, Principal(kind="user", login=QUEUE.login))
    return True


def _leave(repository: Repository, row: JSON) -> None:
    repository.queue.remove(row)
    repository.git.delete_ref(row["ref"])


def _build_again(github: Core, repository: Repository, base: str) -> None:
    """Make new commits for the groups that wait; they need new checks."""
    waiting = [row for row in repository.queue if row["base"] == base]
    for row in waiting:
        _leave(repository, row)
    for row in waiting:
        _add(github, repository, repository.pulls[row["number"]])
