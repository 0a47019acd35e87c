"""A merge by plain Git, recognised as the merge of its pull request.

As on GitHub, a pull request is merged once its head is part of the base branch. A squash or a
rebase by hand counts too, if its patch is the pull request's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitbot.adapters.git import Git

_MOST = 500  # commits of the base branch that are compared by their patch
_DIFF = ("--no-ext-diff", "--no-textconv", "--no-color")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainMerge:
    """The commit of the base branch that merged, its committer's name and time in seconds UTC.

    `time` is None after a fast-forward: no commit was made then.
    """

    commit: str
    by: str
    time: int | None


def plain_merge(git: Git, head: str, *, base: str, opened: str) -> PlainMerge | None:
    """How `head` came onto the base branch, whose tip is `base`; None if it did not.

    `opened` is the base branch's tip when the pull request was opened: what it had then, no merge
    brought. If Git has thrown that commit away, nothing is known.
    """
    kept = git.status(["cat-file", "-e", f"{opened}^{{commit}}"], accept=(0, 1, 128))[0] == 0
    if not kept or _contains(git, opened, head):
        return None
    if _contains(git, base, head):
        found = _first_with(git, head, f"{opened}..{base}")
        made = _described(git, found)
        return replace(made, time=None) if found == head else made
    code, output = git.status(["merge-base", base, head], accept=(0, 1))
    fork = output.decode("ascii").strip()
    if code != 0 or fork == base:
        return None
    found = _same_patch(git, head, fork=fork, base=base)
    return _described(git, found) if found else None


def _contains(git: Git, tip: str, commit: str) -> bool:
    return git.status(["merge-base", "--is-ancestor", commit, tip], accept=(0, 1))[0] == 0


def _commits(git: Git, span: str) -> list[str]:
    """Of the first-parent history, oldest first."""
    listed = git.run(["rev-list", "--first-parent", "--reverse", span])
    return listed.decode("ascii").split()


def _first_with(git: Git, head: str, span: str) -> str:
    """The oldest commit of the base branch that contains the head: all later ones do too."""
    commits = _commits(git, span)
    low, high = 0, len(commits) - 1
    while low < high:
        middle = (low + high) // 2
        if _contains(git, commits[middle], head):
            high = middle
        else:
            low = middle + 1
    return commits[low]


def _same_patch(git: Git, head: str, *, fork: str, base: str) -> str:
    """The commit with which the whole patch of the pull request is on the base branch; or ""."""
    wanted = _patch(git, fork, head)
    if not wanted:
        return ""
    log = ["log", "-p", "--first-parent", "--diff-merges=first-parent", f"--max-count={_MOST}"]
    patches = _patch_ids(git, git.run([*log, *_DIFF, "--format=%H", f"{fork}..{base}"]))
    count = int(git.run(["rev-list", "--count", "--no-merges", f"{fork}..{head}"]))
    last = _patch(git, f"{head}^", head)
    for patch, commit in patches:
        # a squash has it as one commit, a rebase as that many, the last of them the head's
        if patch == wanted or (
            patch == last and _patch(git, f"{commit}~{count}", commit) == wanted
        ):
            return commit
    return ""


def _patch(git: Git, before: str, after: str) -> str:
    """The identity of a patch; "" if it changes nothing, or if a commit has no such parent."""
    code, patch = git.status(["diff", *_DIFF, before, after], accept=(0, 128))
    found = _patch_ids(git, patch) if code == 0 else []
    return found[0][0] if found else ""


def _patch_ids(git: Git, patches: bytes) -> list[tuple[str, str]]:
    """The identity of each patch, and the commit that stands before it."""
    lines = git.run(["patch-id", "--stable"], stdin=patches).decode("ascii").splitlines()
    return [(patch, commit) for patch, commit in (line.split() for line in lines)]


def _described(git: Git, commit: str) -> PlainMerge:
    said = git.run(["log", "-1", "--format=%ct %cn", commit]).decode("utf-8", "replace").strip()
    time, _, name = said.partition(" ")
    return PlainMerge(commit=commit, by=name, time=int(time))
