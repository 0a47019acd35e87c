"""Auto-merge and the merge queue: a merge that happens when its conditions come true.

GitHub offers both through its pages and GraphQL only; a person's hand here is a function.
"""

from __future__ import annotations

from tests.doubles.github import merging, protection, pushes
from tests.doubles.github.core import Core
from tests.doubles.github.events import Event
from tests.doubles.github.problems import Problem
from tests.doubles.github.shapes import git as git_shapes
from tests.doubles.github.shapes import people
from tests.doubles.github.state import JSON, Principal, Pull, Repository

QUEUE = "github-merge-queue[bot]"


def enable_auto_merge(
    github: Core, full_name: str, number: int, *, by: str, method: str = "merge"
) -> None:
    """Merge as soon as reviews and checks allow. Raises Problem where the repository forbids it."""
    repository = github.repository(full_name)
    if not repository.options.auto_merge:
        raise Problem(422, "Auto merge is not allowed for this repository")
    pull = repository.pulls[number]
    pull.auto_merge = {
        "enabled_by": by,
        "merge_method": method,
        "commit_title": "",
        "commit_message": "",
    }
    settle(github, repository)


def enqueue(github: Core, full_name: str, number: int, *, by: str) -> str:
    """Put a pull request into the merge queue; returns the commit that is checked for it."""
    repository = github.repository(full_name)
    pull = repository.pulls[number]
    rules = protection.rules_of(repository, pull.base_branch)
    if not rules.queue:
        raise Problem(422, "Merge queue is not enabled for this branch")
    refusal = protection.refusal_of_rules(repository, pull, rules)
    if refusal is not None:
        raise Problem(422, refusal)
    return _add(github, repository, pull, by=by)


def _add(github: Core, repository: Repository, pull: Pull, *, by: str) -> str:
    """A group of one, on top of what waits already."""
    waiting = [row for row in repository.queue if row["base"] == pull.base_branch]
    merging.look_at(github, repository, pull)
    base = waiting[-1]["sha"] if waiting else pull.base
    commit = _group(github, repository, pull, base)
    branch = f"gh-readonly-queue/{pull.base_branch}/pr-{pull.number}-{base}"
    repository.git.set_ref(f"refs/heads/{branch}", commit)
    pull.queued = True
    row: JSON = {"number": pull.number, "base": pull.base_branch, "sha": commit, "branch": branch}
    repository.queue.append({**row, "by": by})
    pushes.notice(github, Principal(kind="job", login=QUEUE))
    _tell(github, repository, pull, row, base)
    return commit


def _group(github: Core, repository: Repository, pull: Pull, base: str) -> str:
    git = repository.git
    tree = git.merged_tree(base, pull.head)
    if tree is None:
        raise Problem(422, "Pull request has merge conflicts with the queue")
    issue = repository.issues[pull.number]
    return git.write_commit(
        tree,
        parents=(base, pull.head),
        message=f"Merge pull request #{pull.number} from {pull.head_branch}\n\n{issue.title}",
        name="GitHub",
        email="noreply@github.com",
        time=github.clock.now(),
    )


def _tell(github: Core, repository: Repository, pull: Pull, row: JSON, base: str) -> None:
    ref = f"refs/heads/{row['branch']}"
    group = {
        "head_sha": row["sha"],
        "head_ref": ref,
        "base_sha": base,
        "base_ref": f"refs/heads/{pull.base_branch}",
        "head_commit": git_shapes.simple_commit(repository.git.commit(row["sha"])),
    }
    github.publish(
        Event(
            name="merge_group",
            action="checks_requested",
            repository=repository.full_name,
            actor=QUEUE,
            time=github.clock.now(),
            sha=row["sha"],
            ref=ref,
            payload={
                "action": "checks_requested",
                "merge_group": group,
                "repository": people.repository(github.links, github.state, repository),
                "sender": people.user(github.links, github.add_account(QUEUE)),
            },
        )
    )


def settle(github: Core, repository: Repository) -> None:
    """Merge what may be merged by now: auto-merge, and the head of the queue."""
    for pull in list(repository.pulls.values()):
        if pull.auto_merge is not None and repository.issues[pull.number].state == "open":
            _settle_auto(github, repository, pull, pull.auto_merge)
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


def _settle_auto(github: Core, repository: Repository, pull: Pull, wish: JSON) -> None:
    """Merge, or where the branch has a queue join it ("merge when ready"), if that is allowed."""
    merging.look_at(github, repository, pull)
    rules = protection.rules_of(repository, pull.base_branch)
    if not pull.mergeable or pull.queued or protection.refusal_of_rules(repository, pull, rules):
        return
    if rules.queue:
        pull.auto_merge = None
        _add(github, repository, pull, by=wish["enabled_by"])
        return
    by = Principal(kind="user", login=wish["enabled_by"])
    merging.merge(github, repository, pull, by=by, method=wish["merge_method"])
    pushes.notice(github, by)


def _settle_group(github: Core, repository: Repository, row: JSON) -> bool:
    """Whether the first group of the queue ended: merged, or thrown out by a failing check."""
    pull = repository.pulls[row["number"]]
    rules = protection.rules_of(repository, row["base"])
    states = [
        protection.newest_state(repository, row["sha"], name, app=rules.origins.get(name, 0))
        for name in rules.contexts
    ]
    failed = "failure" in states or "error" in states
    if not failed and any(state != "success" for state in states):
        return False
    _leave(repository, row)
    if failed:
        pull.queued = False
        merging.tell(github, repository, pull, "dequeued", QUEUE)
        _build_again(github, repository, row["base"])
        return True
    merging.look_at(github, repository, pull)
    by = Principal(kind="user", login=QUEUE)
    merging.finish(github, repository, pull, row["sha"], by)
    pushes.notice(github, by)
    return True


def _leave(repository: Repository, row: JSON) -> None:
    repository.queue.remove(row)
    repository.git.delete_ref(f"refs/heads/{row['branch']}")


def _build_again(github: Core, repository: Repository, base: str) -> None:
    """What waits was built on what main is not: new commits, new checks."""
    waiting = [row for row in repository.queue if row["base"] == base]
    for row in waiting:
        _leave(repository, row)
    for row in waiting:
        _add(github, repository, repository.pulls[row["number"]], by=row["by"])
