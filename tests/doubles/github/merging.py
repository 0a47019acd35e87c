"""Pull requests as Git sees them: mergeable or not, what a merge asks for, and the merge itself."""

from __future__ import annotations

from typing import Any

from gitbot.adapters.forges.local.merge import merge_commit
from gitbot.errors import ForgeError
from gitbot.ports.forge import MergeMethod, PullRequest, PullState
from tests.doubles.github import protection
from tests.doubles.github.core import Core
from tests.doubles.github.events import Event
from tests.doubles.github.problems import Problem
from tests.doubles.github.shapes import people
from tests.doubles.github.shapes import pulls as shapes
from tests.doubles.github.state import Principal, Pull, Repository


def look_at(github: Core, repository: Repository, pull: Pull) -> None:
    """Work out the base, the test merge and whether there is a conflict."""
    git = repository.git
    pull.base = git.resolve(f"refs/heads/{pull.base_branch}") or pull.base
    git.set_ref(f"refs/pull/{pull.number}/head", pull.head)
    tree = git.merged_tree(pull.base, pull.head)
    pull.mergeable = tree is not None
    if tree is None:
        pull.merge_commit = ""
        git.delete_ref(f"refs/pull/{pull.number}/merge")
    else:
        pull.merge_commit = git.write_commit(
            tree,
            parents=(pull.base, pull.head),
            message=f"Merge {pull.head} into {pull.base}",
            name="GitHub",
            email="noreply@github.com",
            time=github.clock.now(),
        )
        git.set_ref(f"refs/pull/{pull.number}/merge", pull.merge_commit)
    repository.refs = git.refs()


def head_moved(github: Core, repository: Repository, pull: Pull) -> None:
    """A new head: test merge, and stale approvals where protection dismisses them."""
    look_at(github, repository, pull)
    rules = protection.rules_of(repository, pull.base_branch)
    if rules.dismiss_stale:
        for review in repository.reviews.values():
            if review.number == pull.number and review.state == "APPROVED":
                review.state = "DISMISSED"
    repository.issues[pull.number].updated = github.clock.now()


def mergeable_state(repository: Repository, pull: Pull) -> str:
    """GitHub's word: clean, dirty, blocked, behind, draft, unstable, unknown."""
    if pull.merged or repository.issues[pull.number].state == "closed":
        return "unknown"
    if pull.mergeable is None:
        return "unknown"
    if not pull.mergeable:
        return "dirty"
    if pull.draft:
        return "draft"
    refusal = protection.refusal_of_merge(repository, pull)
    if refusal is not None:
        return "blocked"
    return "clean"


def merge(
    github: Core,
    repository: Repository,
    pull: Pull,
    *,
    by: Principal,
    method: str = "merge",
    expected: str = "",
    title: str | None = None,
    message: str | None = None,
    queue: bool = False,
) -> str:
    """Merge; returns the commit that the base branch has now. The caller lets pushes notice.

    Raises Problem as GitHub refuses.
    """
    issue = repository.issues[pull.number]
    if pull.merged or issue.state == "closed":
        raise Problem(405, "Pull Request is not mergeable")
    if expected and expected != pull.head:
        raise Problem(409, "Head branch was modified. Review and try the merge again.")
    _allowed_method(repository, method)
    if pull.draft:
        raise Problem(405, "Pull Request is still a draft")
    look_at(github, repository, pull)
    if not pull.mergeable:
        raise Problem(405, "Pull Request has merge conflicts")
    if not queue:
        refusal = protection.refusal_of_merge(repository, pull, by=by)
        if refusal is not None:
            raise Problem(405, refusal)
    commit = _commit(
        github,
        repository,
        pull,
        login=by.login,
        method=MergeMethod(method),
        title=title,
        message=message,
    )
    finish(github, repository, pull, commit, by)
    return commit


def _allowed_method(repository: Repository, method: str) -> None:
    options = repository.options
    allowed = {"merge": options.merge_commit, "squash": options.squash, "rebase": options.rebase}
    if method not in allowed:
        raise Problem(422, f"Invalid merge method {method}")
    if not allowed[method]:
        words = {"merge": "Merge commits", "squash": "Squash merges", "rebase": "Rebase merges"}
        raise Problem(405, f"{words[method]} are not allowed on this repository.")


def _commit(
    github: Core,
    repository: Repository,
    pull: Pull,
    *,
    login: str,
    method: MergeMethod,
    title: str | None,
    message: str | None,
) -> str:
    git = repository.git
    now = github.clock.now()
    issue = repository.issues[pull.number]
    owner = pull.head_repository.partition("/")[0]
    seen = PullRequest(
        number=pull.number,
        title=issue.title,
        body=issue.body,
        author=issue.author,
        branch=f"{owner}/{pull.head_branch}",
        base_branch=pull.base_branch,
        head=pull.head,
        state=PullState.OPEN,
    )
    try:
        made = merge_commit(git.git, seen, base=pull.base, method=method, account=login, time=now)
    except ForgeError as conflict:
        raise Problem(405, "This branch can't be rebased due to conflicts") from conflict
    if method is MergeMethod.REBASE or (title is None and message is None):
        return made
    facts = git.commit(made)
    first, _, rest = facts.message.partition("\n\n")
    text = f"{title or first}\n\n{message if message is not None else rest}".rstrip()
    return git.write_commit(
        facts.tree,
        parents=facts.parents,
        message=text,
        name=facts.author[0],
        email=facts.author[1],
        time=now,
    )


def finish(github: Core, repository: Repository, pull: Pull, commit: str, by: Principal) -> None:
    """Give the base branch the commit. The caller lets pushes notice that the ref moved."""
    now = github.clock.now()
    issue = repository.issues[pull.number]
    pull.merged, pull.merged_at, pull.merged_by = True, now, by.login
    pull.merge_commit, pull.queued, pull.auto_merge = commit, False, None
    issue.state, issue.closed, issue.closed_by, issue.updated = "closed", now, by.login, now
    git = repository.git
    git.delete_ref(f"refs/pull/{pull.number}/merge")
    git.set_ref(f"refs/heads/{pull.base_branch}", commit, expected=pull.base)
    if repository.options.delete_branch_on_merge and pull.head_repository == repository.full_name:
        git.delete_ref(f"refs/heads/{pull.head_branch}")
    tell(github, repository, pull, "closed", by.login, by_job=by.kind == "job")


def close(
    github: Core, repository: Repository, pull: Pull, actor: str, *, by_job: bool = False
) -> None:
    """Close without a merge."""
    now = github.clock.now()
    issue = repository.issues[pull.number]
    issue.state, issue.closed, issue.closed_by, issue.updated = "closed", now, actor, now
    pull.auto_merge, pull.queued = None, False
    tell(github, repository, pull, "closed", actor, by_job=by_job)


def tell(
    github: Core,
    repository: Repository,
    pull: Pull,
    action: str,
    actor: str,
    *,
    name: str = "pull_request",
    by_job: bool = False,
    **more: Any,
) -> None:
    """Publish an event about a pull request."""
    state, links = github.state, github.links
    fork = pull.head_repository != repository.full_name
    ref = f"refs/pull/{pull.number}/merge"
    github.publish(
        Event(
            name=name,
            action=action,
            repository=repository.full_name,
            actor=actor,
            time=github.clock.now(),
            sha=pull.merge_commit or pull.head,
            ref=ref if not pull.merged else f"refs/heads/{pull.base_branch}",
            by_job=by_job,
            fork=fork,
            number=pull.number,
            payload={
                "action": action,
                "mergeable": pull.merged or bool(pull.mergeable),
                "number": pull.number,
                "pull_request": shapes.full_pull(
                    links, state, repository, pull, mergeable_state="unknown"
                ),
                "repository": people.repository(links, state, repository),
                "sender": people.user(links, github.add_account(actor)),
                **more,
            },
        )
    )
