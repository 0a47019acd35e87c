"""Pull requests and Git: what a push does to them, what a merge needs, and the merge."""

from gitbot.adapters.forges.local.merge import merge_commit
from gitbot.errors import ForgeError
from gitbot.ports.forge import MergeMethod, PullRequest, PullState
from tests.doubles.github import protection, shapes
from tests.doubles.github.core import Core
from tests.doubles.github.problems import Problem
from tests.doubles.github.state import Principal, Pull, Repository
from tests.doubles.github.storage import NOBODY

_HEADS = "refs/heads/"


def notice(github: Core, by: Principal | None = None) -> None:
    """Find the refs that moved since the last call, in every repository.

    `by` moved them; without it (a push into the folder on disk) the owner did.
    """
    for repository in list(github.state.repositories.values()):
        present = repository.git.refs()
        before, repository.refs = repository.refs, present
        mover = by or Principal(kind="user", login=repository.owner)
        for ref in sorted(set(before) | set(present)):
            new = present.get(ref, NOBODY)
            if before.get(ref, NOBODY) != new and ref.startswith(_HEADS):
                repository.activities.append(
                    {
                        "id": len(repository.activities) + 1,
                        "before": before.get(ref, NOBODY),
                        "after": new,
                        "ref": ref,
                        "activity_type": "push",
                        "actor": mover.login,
                    }
                )
                _moved(github, repository, ref, new, mover)


def _moved(github: Core, repository: Repository, ref: str, new: str, by: Principal) -> None:
    if new != NOBODY:
        github.publish("push", repository, by, {"ref": ref, "after": new}, sha=new, ref=ref)
    branch = ref.removeprefix(_HEADS)
    for base in list(github.state.repositories.values()):
        for pull in list(base.pulls.values()):
            head = (pull.head_repository, pull.head_branch)
            if pull.closed_at:
                continue
            if head == (repository.full_name, branch) and new == NOBODY:
                pull.close(github.clock.now())
            elif head == (repository.full_name, branch) and new != pull.head:
                _synchronize(github, base, pull, new, by)
            elif base is repository and pull.base == branch and new != NOBODY:
                look_at(github, base, pull)


def _synchronize(github: Core, base: Repository, pull: Pull, head: str, by: Principal) -> None:
    pull.head, pull.pusher = head, by.login
    if pull.head_repository != base.full_name:
        source = github.repository(pull.head_repository)
        base.git.fetch(source.git, f"{_HEADS}{pull.head_branch}", f"refs/pull/{pull.number}/head")
    look_at(github, base, pull)
    if protection.rules_of(base, pull.base).dismiss_stale:
        for review in base.reviews.values():
            if review.number == pull.number and review.state == "APPROVED":
                review.state = "DISMISSED"
    pull.updated_at = github.clock.now()
    tell(github, base, pull, "synchronize", by)


def look_at(github: Core, repository: Repository, pull: Pull) -> None:
    """Update the base and the test merge."""
    git = repository.git
    pull.base_sha = git.resolve(_HEADS + pull.base) or pull.base_sha
    git.set_ref(f"refs/pull/{pull.number}/head", pull.head)
    message = f"Merge {pull.head} into {pull.base_sha}"
    merged = git.merge(pull.base_sha, pull.head, message=message, time=github.clock.now())
    pull.merge_commit_sha = merged
    if merged:
        git.set_ref(f"refs/pull/{pull.number}/merge", merged)
    else:
        git.delete_ref(f"refs/pull/{pull.number}/merge")
    repository.refs = git.refs()


def tell(github: Core, repository: Repository, pull: Pull, action: str, by: Principal) -> None:
    """Publish an event about a pull request. GitHub starts no workflow if it has conflicts."""
    shown = shapes.full_pull(github, pull)
    if pull.merge_commit_sha:
        github.publish(
            "pull_request",
            repository,
            by,
            {"action": action, "number": pull.number, "pull_request": shown},
            sha=pull.merge_commit_sha,
            ref=f"refs/pull/{pull.number}/merge",
            fork=pull.head_repository != repository.full_name,
        )


def merge(
    github: Core,
    repository: Repository,
    pull: Pull,
    *,
    by: Principal,
    method: str = "merge",
    expected: str = "",
) -> None:
    """Merge. The caller calls `notice` afterwards. Raises Problem as GitHub refuses."""
    if pull.closed_at:
        raise Problem(405, "Pull Request is not mergeable")
    if expected and expected != pull.head:
        raise Problem(409, "Head branch was modified. Review and try the merge again.")
    look_at(github, repository, pull)
    if not pull.merge_commit_sha:
        raise Problem(405, "Pull Request has merge conflicts")
    refusal = protection.refusal_of_merge(github, repository, pull)
    if refusal is not None:
        raise Problem(405, refusal)
    finish(github, repository, pull, _commit(github, repository, pull, by.login, method), by.login)


def _commit(github: Core, repository: Repository, pull: Pull, login: str, method: str) -> str:
    owner = pull.head_repository.partition("/")[0]
    seen = PullRequest(
        number=pull.number,
        title=pull.title,
        body=pull.body,
        author=pull.user,
        branch=f"{owner}/{pull.head_branch}",
        base_branch=pull.base,
        head=pull.head,
        state=PullState.OPEN,
    )
    try:
        return merge_commit(
            repository.git.git,
            seen,
            base=pull.base_sha,
            method=MergeMethod(method),
            account=login,
            time=github.clock.now(),
        )
    except ForgeError as conflict:
        raise Problem(405, "This branch can't be rebased due to conflicts") from conflict


def finish(github: Core, repository: Repository, pull: Pull, commit: str, by: str) -> None:
    """Give the base branch the commit. The caller calls `notice` afterwards."""
    pull.close(github.clock.now())
    pull.merged_at, pull.merged_by, pull.merge_commit_sha = github.clock.now(), by, commit
    repository.git.delete_ref(f"refs/pull/{pull.number}/merge")
    repository.git.set_ref(_HEADS + pull.base, commit, expected=pull.base_sha)
