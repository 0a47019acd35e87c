"""The three ways to merge a pull request, in memory, on a bare repository."""

from __future__ import annotations

from gitbot.adapters.git import Git, commit_tree
from gitbot.errors import ForgeError
from gitbot.ports.forge import MergeMethod, PullRequest


def merge_commit(
    git: Git, pull: PullRequest, *, base: str, method: MergeMethod, account: str, time: int
) -> str:
    """The commit that the base branch should point to after the merge. Moves nothing."""
    writer = _CommitWriter(git, account, time)
    match method:
        case MergeMethod.MERGE:
            tree = _merged_tree(git, pull, base, pull.head)
            message = f"Merge pull request #{pull.number} from {pull.branch}\n\n{pull.title}"
            return writer.commit(tree, (base, pull.head), message)
        case MergeMethod.SQUASH:
            tree = _merged_tree(git, pull, base, pull.head)
            return writer.commit(tree, (base,), f"{pull.title} (#{pull.number})")
        case MergeMethod.REBASE:
            return _rebase(git, pull, base, writer)


class _CommitWriter:
    def __init__(self, git: Git, account: str, time: int) -> None:
        self._git = git
        self._account = account
        self._time = time

    def commit(self, tree: str, parents: tuple[str, ...], message: str) -> str:
        return commit_tree(
            self._git,
            tree,
            parents=parents,
            message=message,
            name=self._account,
            email=f"{self._account}@users.local.invalid",
            time=self._time,
        )


def _merged_tree(git: Git, pull: PullRequest, base: str, head: str) -> str:
    code, output = git.status(
        ["merge-tree", "--write-tree", "--no-messages", base, head], accept=(0, 1)
    )
    if code != 0:
        raise ForgeError(
            f"pull request {pull.number} conflicts with {pull.base_branch}",
            hint=f"bring {pull.branch} up to date",
        )
    return output.decode("ascii").split()[0]


def _rebase(git: Git, pull: PullRequest, base: str, writer: _CommitWriter) -> str:
    fork = git.run(["merge-base", base, pull.head]).decode("ascii").strip()
    listed = git.run(["rev-list", "--reverse", "--no-merges", f"{fork}..{pull.head}"])
    tip = base
    for commit in listed.decode("ascii").split():
        # A stand-in with the tip's tree and the commit's own parent makes merge-tree use that
        # parent as the merge base: a cherry-pick in memory.
        parent = git.run(["rev-parse", f"{commit}^"]).decode("ascii").strip()
        tip_tree = git.run(["rev-parse", tip + "^{tree}"]).decode("ascii").strip()
        stand_in = writer.commit(tip_tree, (parent,), "stand-in for a rebase")
        tree = _merged_tree(git, pull, stand_in, commit)
        message = git.run(["log", "-1", "--format=%B", commit]).decode("utf-8", "replace")
        tip = writer.commit(tree, (tip,), message.strip())
    return tip
