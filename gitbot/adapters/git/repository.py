"""The Repository port over a private bare clone; the remote is written by compare-and-swap."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from gitbot.adapters.git.bounded_command import size_of_packs
from gitbot.adapters.git.branches import FETCH, MIRROR, ONE_HEAD, Branches, not_answered
from gitbot.adapters.git.objects import (
    TreeEntry,
    commit_tree,
    list_tree,
    must_be_modest,
    read_blobs,
    write_tree,
)
from gitbot.adapters.git.process import Access, Git, address_of, check_ref, is_commit_id, no_access
from gitbot.adapters.git.signing import SIGNING_KEY_FILE, SigningKey, sign_commit
from gitbot.errors import ConflictError, RepositoryError, UnreachableError
from gitbot.model.text.names import OWN_AUTHOR
from gitbot.ports.repository import Commit

_TREES_KEPT = 64  # cached listings; a pass reads a handful of commits many times
_LOGS_KEPT = 16  # a quiet pass asks for two, again and again
_ANSWERS_KEPT = 4096  # cached answers about commit ids, which never change
_ALL_PULLS = 512 * 1024 * 1024  # bytes of unreferenced heads before they are dropped
_FORMAT = "%H%x00%P%x00%an%x00%ae%x00%ct%x00%B"

_WRITE = "give gitbot's account write permission on the contents of the repository"
_SIGN = (
    f"if its rules ask for signed commits, set {SIGNING_KEY_FILE}: docs/running.md#signed-commits"
)
_RULES = "its rules or hooks forbid it: let gitbot's account push gitbot/**"
_IN_WAY = "rename or delete the branch in its way"
_LOCKED = "run again; if nobody pushes, remove the .lock that a killed Git left in the remote"
_DISK = "the remote cannot store it: see its free space, and who may write its folder"
# GitHub's words; Gitea's, where it finds them: 1.26 says the last ones
_UNSIGNED = re.compile("(?i)verified signatures|unverified commit|internal server error")
_DENIED = re.compile(r"(?i)\b403\b|denied|not granted|not permitted")


class GitRepository:
    """Branches of one remote, mirrored into gitbot's own bare repository.

    `name` and `email` are on gitbot's commits, and `key` signs them. The directory may be deleted
    at any time: it contains nothing that the remote does not have.
    """

    def __init__(
        self,
        git: Git,
        *,
        remote: str,
        name: str,
        email: str,
        only: Sequence[str] = (),
        key: SigningKey | None = None,
    ) -> None:
        self._git = git
        self._key = key
        self._remote = remote
        self._branches = Branches(git, remote, only)
        self._identity = {"name": name, "email": (key.email if key else "") or email}
        self._pulled = 0  # bytes of pull request heads
        self._refs: dict[str, str] = {}  # full ref name to commit id, as of the last fetch or push
        self._trees: dict[
            tuple[str, str], Mapping[str, bytes]
        ] = {}  # the content of an id never changes
        self._large: dict[str, bytes] = {}  # by id, of the last tree that was read without a bound
        self._known: set[str] = set()  # ids of commits that were found
        self._reaches = lru_cache(_ANSWERS_KEPT)(self._ask_reaches)
        self._added = lru_cache(_ANSWERS_KEPT)(self._ask_added)
        self._commits = lru_cache(_TREES_KEPT)(self._ask_commit)
        self._logs = lru_cache(_LOGS_KEPT)(self._ask_log)

    @classmethod
    def clone(
        cls,
        remote: str,
        directory: Path,
        *,
        name: str = OWN_AUTHOR,
        email: str = "gitbot@placement.gitbot.dev",
        access: Callable[[], Access] = no_access,
        only: Sequence[str] = (),
        key: SigningKey | None = None,
    ) -> GitRepository:
        """Create or reuse the bare mirror in `directory`, and fetch. `remote`: path or URL.

        `access` gives access to the remote, `only` names the branches (see Branches). Raises
        RepositoryError if `directory` contains anything but a mirror that this function created.
        """
        if remote.startswith("-"):
            raise RepositoryError(f"{remote!r} is not a repository")
        directory.mkdir(parents=True, exist_ok=True)
        if not any(directory.iterdir()):
            Git(directory).run(["init", "--bare", "--quiet", "--template="])
            (directory / MIRROR).touch()
        address, access = address_of(remote, access)
        git = Git(directory, access=access)
        repository = cls(git, remote=address, name=name, email=email, only=only, key=key)
        repository.fetch()
        return repository

    @classmethod
    def of_work_tree(cls, root: Path) -> GitRepository:
        return cls(Git.of_work_tree(root), remote=str(root), name="", email="")

    def fetch(self) -> None:
        """Update the branches. Heads of pull requests come from fetch_commit only."""
        self._refs = self._branches.fetch()
        self._known.update(
            commit for ref, commit in self._refs.items() if ref.startswith("refs/heads/")
        )

    def fetch_commit(self, commit: str) -> None:
        """Fetch one commit that may be on no branch. Raises RepositoryError if that fails.

        Raises UnreachableError if the remote cannot be reached twice. Any account may open a pull
        request, from a fork of any size, with objects that Git refuses. So gitbot fetches only its
        head, within a minute and 128 MiB.
        """
        if not is_commit_id(commit):
            raise RepositoryError(f"{commit!r} is not a full commit id")
        if self.resolve(commit) is not None:
            return
        if self._pulled > _ALL_PULLS:
            self._drop_pulls()
        try:
            self._fetch_one(commit)
        except UnreachableError:
            self._fetch_one(commit)

    def fetch_tag(self, tag: str) -> None:
        """Fetch one tag, as `fetch_commit` fetches a commit."""
        name = f"refs/tags/{check_ref(tag)}"
        self._fetch_one(f"+{name}:{name}")

    def _fetch_one(self, commit: str) -> None:
        before = size_of_packs(self._git.directory)
        try:
            self._git.within(ONE_HEAD, [*FETCH, "--end-of-options", self._remote, commit])
        except RepositoryError as error:
            if size_of_packs(self._git.directory) > before:
                self._drop_pulls()
            if (unreachable := not_answered(error)) is not None:
                raise unreachable from error
            raise
        self._pulled += max(0, size_of_packs(self._git.directory) - before)

    def _drop_pulls(self) -> None:
        self._git.run(["repack", "-a", "-d", "--quiet"])
        self._known.clear()
        self._pulled = 0

    def resolve(self, rev: str) -> str | None:
        check_ref(rev)
        if (reason := self._branches.refused.get(f"refs/heads/{rev}")) is not None:
            raise RepositoryError(f"branch {rev} of {self._remote} cannot be fetched: {reason}")
        known = self._refs.get(f"refs/heads/{rev}") or self._refs.get(rev)
        if known is not None:
            return known
        if rev in self._known:
            return rev
        folders = ("refs/heads/", "refs/remotes/", "refs/tags/", "")  # a tag must not hide a branch
        own = is_commit_id(rev) or rev == "HEAD"
        names = [rev] if own else [f"{folder}{rev}" for folder in folders]
        _, output = self._git.status(
            ["cat-file", "--batch-check=%(objectname)"],
            stdin=os.fsencode("".join(f"{name}^{{commit}}\n" for name in names)),
            accept=(0, 128),
        )
        found = next(filter(is_commit_id, output.decode("utf-8", "replace").splitlines()), None)
        self._known.update([found] if found else [])
        return found

    def commit(self, rev: str) -> Commit:
        return self._commits(self._must(rev))

    def _ask_commit(self, commit: str) -> Commit:
        output = self._git.run(
            ["log", "-1", "--no-show-signature", f"--format={_FORMAT}", commit, "--"]
        )
        return _parse_commit(output)

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        if ancestor == descendant:
            return self.resolve(ancestor) is not None
        return self._reaches(self._must(ancestor), self._must(descendant))

    def _ask_reaches(self, ancestor: str, descendant: str) -> bool:
        code, _ = self._git.status(
            ["merge-base", "--is-ancestor", ancestor, descendant], accept=(0, 1)
        )
        return code == 0

    def merge_base(self, left: str, right: str) -> str | None:
        code, output = self._git.status(
            ["merge-base", self._must(left), self._must(right)], accept=(0, 1)
        )
        return output.decode("ascii").strip() if code == 0 else None

    def read_tree(self, rev: str, prefix: str = "", *, bounded: bool = True) -> Mapping[str, bytes]:
        identity = self._must(rev, tree=True)
        found = self._trees.get((identity, prefix))
        if found is None:
            entries = list_tree(self._git, identity, prefix, bounded=bounded)
            if not bounded:
                return self._grown(entries)
            contents = read_blobs(self._git, tuple(entry.id for entry in entries))
            found = {entry.path: contents[entry.id] for entry in entries}
            if len(self._trees) >= _TREES_KEPT:
                self._trees.pop(next(iter(self._trees)))
            self._trees[identity, prefix] = found
        return found

    def _grown(self, entries: tuple[TreeEntry, ...]) -> Mapping[str, bytes]:
        """The contents of a tree without a bound. Only its last state is kept, by ids of blobs."""
        known = self._large
        ids = (entry.id for entry in entries if entry.id not in known)
        added = read_blobs(self._git, tuple(ids))
        self._large = {it.id: added[it.id] if it.id in added else known[it.id] for it in entries}
        return {entry.path: self._large[entry.id] for entry in entries}

    def read_blob(self, rev: str, path: str) -> bytes | None:
        return self.read_tree(rev, path).get(path)

    def merge_trees(self, base: str, head: str) -> str | None:
        common = self.merge_base(base, head)
        if common is None:
            said = f"{head[:12]} and {base[:12]} have no commit in common"
            raise RepositoryError(said, hint="in a shallow clone: git fetch --unshallow")
        must_be_modest(self._git, common, self._must(head))
        code, output = self._git.status(
            ["merge-tree", "--write-tree", "--no-messages", self._must(base), self._must(head)],
            accept=(0, 1),
        )
        return output.decode("ascii").split()[0] if code == 0 else None

    def introduced_by(self, branch: str, path: str) -> str | None:
        return self._added(self._must(branch), path)

    def _ask_added(self, commit: str, path: str) -> str | None:
        output = self._git.run(
            [
                "log",
                "-1",
                "--first-parent",
                "--diff-merges=first-parent",
                "--no-patch",
                "--diff-filter=A",
                "--no-renames",
                "--format=%H",
                commit,
                "--",
                path,
            ]
        )
        return output.decode("ascii").strip() or None

    def log(self, branch: str, *, path: str = "", limit: int = 0) -> tuple[Commit, ...]:
        return self._logs(self._must(branch), path, limit)

    def _ask_log(self, commit: str, path: str, limit: int) -> tuple[Commit, ...]:
        arguments = ["log", "--first-parent", "-z", f"--format={_FORMAT}"]
        if limit:
            arguments.append(f"--max-count={limit}")
        if path:
            arguments += ["--diff-merges=first-parent", "--no-patch"]
        arguments += [commit, "--", *([path] if path else [])]
        output = self._git.run(arguments)
        fields = output.split(b"\0")
        width = _FORMAT.count("%x00") + 1
        records = [fields[start : start + width] for start in range(0, len(fields) - 1, width)]
        return tuple(_parse_commit(b"\0".join(record)) for record in records)

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
        check_ref(branch)
        below = None if orphan else expected or next(iter(parents or ()), None)
        tree = write_tree(self._git, below, files)
        if parents is None:
            parents = () if orphan or expected is None else (expected,)
        commit = commit_tree(
            self._git, tree, parents=parents, message=message, time=time, **self._identity
        )
        if self._key is not None:
            commit = sign_commit(self._git, commit, self._key)
        self._push(branch, commit, expected)
        return commit

    def delete_branch(self, branch: str, *, expected: str) -> None:
        self._push(branch, "", expected)

    def rehearse_push(self, branch: str) -> None:
        """Check with the remote whether this account may push, without pushing.

        Raises RepositoryError if not. Only a real push checks rules about single branches.
        """
        check_ref(branch)
        tip = self.resolve(branch) or next(iter(self._refs.values()), None)
        if tip is None:
            raise RepositoryError(f"{self._remote} is empty", hint="push the base branch first")
        arguments = ["push", "--quiet", "--dry-run", "--no-verify", "--end-of-options"]
        ref = f"refs/heads/{branch}"
        code, said = self._git.attempt([*arguments, self._remote, f"{tip}:{ref}"])
        closed = _closed_folder(self._remote) if code == 0 else None
        if code != 0 or closed:
            said = f"this user may not write {closed}" if closed else said
            raise RepositoryError(f"{branch} cannot be pushed: {said}", hint=_WRITE)

    def _must(self, rev: str, *, tree: bool = False) -> str:
        if tree and is_commit_id(rev):
            return rev  # a commit or the tree of merge_trees: both can be listed
        found = self.resolve(rev)
        if found is None:
            raise RepositoryError(f"there is no commit {rev!r} in {self._remote}")
        return found

    def _push(self, branch: str, commit: str, expected: str | None) -> None:
        ref = f"refs/heads/{branch}"
        code, said = self._git.begin(
            [
                "push",
                "--quiet",
                "--atomic",
                "--no-verify",
                f"--force-with-lease={ref}:{expected or ''}",
                "--end-of-options",
                self._remote,
                f"{commit}:{ref}",
            ]
        )
        if code != 0 and self._branches.tip(ref) != (commit or None):
            if "[remote rejected]" in said and "cannot lock ref" not in said:
                hint = _DISK if "unpack" in said else _RULES
                hint = _SIGN if _UNSIGNED.search(said) else hint
                raise RepositoryError(f"the remote refuses to change {branch}: {said}", hint=hint)
            if "exists; cannot create" in said:
                raise RepositoryError(f"{branch} cannot be made: {said}", hint=_IN_WAY)
            if any(word in said for word in ("stale info", "rejected", "cannot lock ref")):
                hint = _LOCKED if "File exists" in said else "run again"
                self.fetch()  # the next decision is about what the other process pushed
                raise ConflictError(f"somebody else moved {branch} first", hint=hint)
            way = _WRITE if _DENIED.search(said) else ""
            raise RepositoryError(f"pushing {branch} failed: {said}", hint=way)
        self._follow(ref, commit)

    def _follow(self, ref: str, commit: str) -> None:
        if commit:
            self._git.run(["update-ref", ref, commit])
            self._refs[ref] = commit
        else:
            self._git.run(["update-ref", "-d", ref])
            self._refs.pop(ref, None)


def _closed_folder(remote: str) -> Path | None:
    """The folder of a local remote that is not writable: `--dry-run` does not test that."""
    found = [Path(remote.removeprefix("file://"), name) for name in ("objects", ".git/objects")]
    return next((path for path in found if path.is_dir() and not os.access(path, os.W_OK)), None)


def _parse_commit(output: bytes) -> Commit:
    identity, parents, author, email, time, message = output.decode("utf-8", "replace").split(
        "\0", 5
    )
    return Commit(
        id=identity.strip(),
        parents=tuple(parents.split()),
        author=author,
        email=email,
        time=int(time),
        message=message.rstrip("\0").strip(),
    )
