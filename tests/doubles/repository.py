"""A repository in memory: commits with whole trees, branches, three-way merges by file."""

import copy
import hashlib
from collections.abc import Mapping
from typing import Self

from gitbot.adapters.git import check_ref
from gitbot.errors import ConflictError, RepositoryError
from gitbot.ports.repository import Commit

Tree = Mapping[str, bytes]


class MemoryRepository:
    """The Repository port without Git."""

    def __init__(self, *, author: str = "gitbot") -> None:
        self.author = author
        self.branches: dict[str, str] = {}
        self._commits: dict[str, Commit] = {}
        self._trees: dict[str, dict[str, bytes]] = {}
        self._below: dict[str, frozenset[str]] = {}  # a commit and all that is reachable from it
        self.pushes = 0

    def copied(self) -> Self:
        """The same commits and branches; what is written to one is not in the other."""
        other = copy.copy(self)
        other.branches, other._commits = dict(self.branches), dict(self._commits)
        other._trees, other._below = dict(self._trees), dict(self._below)
        return other

    def fetch(self) -> None:
        """Nothing is remote."""

    def fetch_commit(self, commit: str) -> None:
        """Nothing is remote; RepositoryError where there is no such commit."""
        self._must(commit)

    def resolve(self, rev: str) -> str | None:
        """The commit id of a rev."""
        check_ref(rev)
        return self.branches.get(rev) or (rev if rev in self._commits else None)

    def commit(self, rev: str) -> Commit:
        """The commit itself."""
        return self._commits[self._must(rev)]

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """Whether one commit is reachable from another."""
        return self._must(ancestor) in self._reachable(self._must(descendant))

    def merge_base(self, left: str, right: str) -> str | None:
        """The best common ancestor along first parents."""
        reachable = self._reachable(self._must(left))
        return next((item.id for item in self.log(right) if item.id in reachable), None)

    def read_tree(self, rev: str, prefix: str = "", *, bounded: bool = True) -> Tree:  # noqa: ARG002
        """Path to content below a prefix."""
        tree = self._trees[rev] if rev in self._trees else self._trees[self._must(rev)]
        return {path: tree[path] for path in sorted(tree) if path.startswith(prefix)}

    def read_blob(self, rev: str, path: str) -> bytes | None:
        """One file."""
        tree = self._trees[rev] if rev in self._trees else self._trees[self._must(rev)]
        return tree.get(path)

    def merge_trees(self, base: str, head: str) -> str | None:
        """The tree of merging head into base; None where both changed one file differently."""
        common = self.merge_base(head, base)
        ancestor = self.read_tree(common) if common else {}
        ours, theirs = self.read_tree(base), self.read_tree(head)
        merged: dict[str, bytes] = {}
        for path in sorted({*ours, *theirs, *ancestor}):
            was, left, right = ancestor.get(path), ours.get(path), theirs.get(path)
            if left not in (was, right) and right != was:
                return None
            chosen = right if left == was else left
            if chosen is not None:
                merged[path] = chosen
        return self._keep(merged)

    def introduced_by(self, branch: str, path: str) -> str | None:
        """The first-parent commit that last added the path."""
        for item in self.log(branch):
            before = self._trees[item.parents[0]] if item.parents else {}
            if path in self._trees[item.id] and path not in before:
                return item.id
        return None

    def log(self, branch: str, *, path: str = "", limit: int = 0) -> tuple[Commit, ...]:
        """First-parent history, newest first."""
        found: list[Commit] = []
        rev: str | None = self._must(branch)
        while rev:
            item = self._commits[rev]
            rev = item.parents[0] if item.parents else None
            before = self._trees[rev] if rev else {}
            if not path or self._trees[item.id].get(path) != before.get(path):
                found.append(item)
        return tuple(found[:limit] if limit else found)

    def write_commit(
        self,
        *,
        branch: str,
        expected: str | None,
        files: Mapping[str, bytes | None],
        message: str,
        time: int,
        parents: tuple[str, ...] | None = None,
        orphan: bool = False,
    ) -> str:
        """Commit on top of `expected`, compare-and-swap."""
        if self.branches.get(branch) != expected:
            raise ConflictError(f"somebody else moved {branch} first", hint="run again")
        start = expected or next(iter(parents or ()), None)
        below = {} if orphan or start is None else dict(self._trees[start])
        tree = {path: data for path, data in {**below, **files}.items() if data is not None}
        if parents is None:
            parents = () if orphan or expected is None else (expected,)
        identity = self.add_commit(tree, parents=parents, message=message, time=time)
        self.branches[branch] = identity
        self.pushes += 1
        return identity

    def add_commit(self, tree: Tree, *, parents: tuple[str, ...], message: str, time: int) -> str:
        """Make a commit that no branch points to yet."""
        key = self._keep(tree)
        text = f"{key}|{parents}|{self.author}|{time}|{message}|{len(self._commits)}"
        identity = hashlib.sha256(text.encode()).hexdigest()[:40]
        self._trees[identity] = dict(tree)
        self._commits[identity] = Commit(
            id=identity,
            parents=parents,
            author=self.author,
            email=f"{self.author}@example.com",
            time=time,
            message=message,
        )
        return identity

    def delete_branch(self, branch: str, *, expected: str) -> None:
        """Delete a branch that still is at `expected`."""
        if self.branches.get(branch) != expected:
            raise ConflictError(f"somebody else moved {branch} first", hint="run again")
        del self.branches[branch]
        self.pushes += 1

    def _keep(self, tree: Tree) -> str:
        digest = hashlib.sha256()
        for path, data in sorted(tree.items()):
            digest.update(f"{path}\0{len(data)}\0".encode() + data)
        key = "tree" + digest.hexdigest()[:36]
        self._trees[key] = dict(tree)
        return key

    def _must(self, rev: str) -> str:
        found = self.resolve(rev)
        if found is None:
            raise RepositoryError(f"there is no commit {rev!r}")
        return found

    def _reachable(self, start: str) -> frozenset[str]:
        if start in self._below:
            return self._below[start]
        seen: set[str] = set()
        todo = [start]
        while todo:
            rev = todo.pop()
            if rev not in seen:
                seen.add(rev)
                todo += self._commits[rev].parents
        self._below[start] = frozenset(seen)
        return self._below[start]
