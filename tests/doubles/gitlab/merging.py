"""Merge requests and Git: what a push does to them, what a merge needs, and the merge."""

from gitbot.adapters.forges.local.merge import merge_commit
from gitbot.ports.forge import MergeMethod, PullRequest, PullState
from tests.doubles.github.storage import NOBODY
from tests.doubles.gitlab.state import MergeRequest, Problem, Project, User

_HEADS = "refs/heads/"


def notice(project: Project, now: int) -> None:
    """Find the refs that moved since the last call."""
    present = project.git.refs()
    before, project.refs = project.refs, present
    for ref in sorted(set(before) | set(present)):
        old, new = before.get(ref, NOBODY), present.get(ref, NOBODY)
        if old != new and ref.startswith(_HEADS):
            _pushed(project, ref.removeprefix(_HEADS), old, new, now)


def _pushed(project: Project, branch: str, old: str, new: str, now: int) -> None:
    there = None if new == NOBODY else new
    push = {"action": "pushed", "ref": branch, "commit_from": old, "commit_to": there}
    event = {"action_name": "pushed to", "author_username": project.pusher, "push_data": push}
    project.events.insert(0, event)
    for request in project.requests.values():
        if request.state != "opened":
            continue
        if request.target_branch == branch:
            request.unchecked = 1
        if request.source_branch == branch and there and request.sha != there:
            request.versions.append((there, now))
            request.unchecked = 1
            if project.reset_on_push:
                request.approvals.clear()


def detailed_status(project: Project, request: MergeRequest) -> str:
    """`detailed_merge_status`; each look brings the check for conflicts on."""
    if request.state != "opened":
        return "not_open"
    if request.unchecked:
        request.unchecked -= 1
        return "checking"
    return blocked(project, request) or "mergeable"


def blocked(project: Project, request: MergeRequest) -> str:
    """Why it cannot be merged, in GitLab's word; "" if it can."""
    base = project.git.resolve(request.target_branch)
    assert base is not None
    if request.title.startswith("Draft:"):
        return "draft_status"
    if len(request.approvals) < (project.approval_rules or 0):
        return "not_approved"
    if project.git.merge(base, request.sha, message="test", time=1) is None:
        return "conflict"
    if project.merge_method != "merge" and not project.git.is_ancestor(base, request.sha):
        return "need_rebase"
    return ""


def merge(project: Project, request: MergeRequest, *, by: User, sha: str, squash: bool) -> None:
    """Merge as the project does. Raises Problem as GitLab refuses."""
    refusal = "" if request.state == "opened" else "not_open"
    refusal = refusal or blocked(project, request)
    if refusal and refusal not in ("conflict", "need_rebase"):
        raise Problem(405, "405 Method Not Allowed")
    if sha and sha != request.sha:
        raise Problem(409, f"SHA does not match HEAD of source branch: {request.sha}")
    if refusal:
        raise Problem(422, "Branch cannot be merged")


def finish(project: Project, request: MergeRequest, *, by: User, squash: bool, now: int) -> None:
    """Move the target branch, and remember what came of it."""
    git = project.git
    base, tip = git.resolve(request.target_branch), request.sha
    assert base is not None
    if squash:
        tree = git.git.run(["rev-parse", f"{request.sha}^{{tree}}"]).decode().strip()
        below = base
        if project.merge_method == "merge":
            below = git.git.run(["merge-base", base, request.sha]).decode().strip()
        tip = request.squash_commit_sha = git.write_commit(
            tree, parents=(below,), message=request.title, name=by.username,
            email=f"{by.username}@example.org", time=now,
        )  # fmt: skip
    if project.merge_method != "ff":
        message = f"Merge branch '{request.source_branch}' into '{request.target_branch}'"
        tip = request.merge_commit_sha = git.merge(base, tip, message=message, time=now) or ""
    git.set_ref(_HEADS + request.target_branch, tip, expected=base)
    request.state, request.merged_at, request.merge_user = "merged", now, by


def rebase(project: Project, request: MergeRequest, *, by: str, now: int) -> None:
    """Press the button: the branch gets a new head on top of the target branch."""
    base = project.git.resolve(request.target_branch)
    assert base is not None
    seen = PullRequest(
        number=request.iid, title=request.title, body="", author=by, head=request.sha,
        branch=request.source_branch, base_branch=request.target_branch, state=PullState.OPEN,
    )  # fmt: skip
    tip = merge_commit(
        project.git.git, seen, base=base, method=MergeMethod.REBASE, account=by, time=now
    )
    project.git.set_ref(_HEADS + request.source_branch, tip)
    notice(project, now)
