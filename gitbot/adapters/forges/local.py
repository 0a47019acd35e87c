"""The local forge: pull requests kept in a bare Git repository, without any service.

Everything that is said about pull requests lives as JSON files on `refs/gitbot/forge` of the bare
repository itself; heads of pull requests are kept alive under `refs/pull/<N>/head`. The whole
flow (open, review, merge, statuses, sticky comments) is thus real Git.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitbot.adapters.forges import local_conversation as said
from gitbot.adapters.forges.local_codec import (
    decode_pull,
    decode_statuses,
    encode_pull,
    encode_statuses,
)
from gitbot.adapters.forges.local_merge import merge_commit
from gitbot.adapters.git.process import Git, check_ref
from gitbot.adapters.git.state import RefState, move_ref
from gitbot.errors import ConflictError, ForgeError
from gitbot.ports.clock import Clock
from gitbot.ports.forge import (
    CheckRun,
    Comment,
    CommitStatus,
    Issue,
    MergeMethod,
    PullRequest,
    PullState,
    Review,
)

_STATE_REF = "refs/gitbot/forge"
_ATTEMPTS = 8  # lost races of one change before giving up


class LocalForge:
    """The Forge port over a bare repository on disk.

    `account` is who acts through this value: gitbot's own account, or a person in a demo or test.
    """

    def __init__(
        self, directory: Path, *, clock: Clock, account: str = "gitbot", bot: str = "gitbot"
    ) -> None:
        if not (directory / "HEAD").exists():
            raise ForgeError(
                f"{directory} is no bare Git repository", hint="make one with `git init --bare`"
            )
        self._directory = directory
        self._git = Git(directory)
        self._state = RefState(self._git, _STATE_REF)
        self._clock = clock
        self._account = account
        self._bot = bot

    @classmethod
    def create(
        cls, directory: Path, *, clock: Clock, account: str = "gitbot", branch: str = "main"
    ) -> LocalForge:
        """Make an empty bare repository and the forge over it."""
        directory.mkdir(parents=True, exist_ok=True)
        Git(directory).run(
            ["init", "--bare", "--quiet", "--template=", f"--initial-branch={check_ref(branch)}"]
        )
        return cls(directory, clock=clock, account=account)

    def acting_as(self, account: str) -> LocalForge:
        """The same forge, used by somebody else."""
        return LocalForge(self._directory, clock=self._clock, account=account, bot=self._bot)

    @property
    def bot(self) -> str:
        """The account that gitbot acts as."""
        return self._bot

    @property
    def reviews_required(self) -> int:
        """How many approvals a merge needs; 0 where nobody said otherwise."""
        return int(self._read_json("settings.json").get("reviewsRequired", 0))

    @property
    def clock_skew(self) -> int:
        """The clock is our own."""
        return 0

    def require_reviews(self, count: int) -> None:
        """Ask for that many approvals before a merge."""
        self._settings({"reviewsRequired": count}, "require reviews")

    def _settings(self, wanted: Mapping[str, Any], message: str) -> None:
        def change(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
            known = json.loads(files.get("settings.json", b"{}"))
            return {"settings.json": _dump({**known, **wanted})}

        self._change(change, message)

    def open_pull(
        self, *, branch: str, base_branch: str, title: str, body: str, labels: tuple[str, ...]
    ) -> PullRequest:
        """Open a pull request, or return the open one of that branch."""
        head = self._head_of(branch)
        if head is None:
            raise ForgeError(f"there is no branch {branch}", hint="push it first")
        opened: list[int] = []

        def change(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
            opened.clear()
            pulls = _pulls(files)
            present = [p for p in pulls if p.branch == branch and p.state is PullState.OPEN]
            if present:
                opened.append(present[0].number)
                return {}
            number = 1 + max((pull.number for pull in pulls), default=0)
            opened.append(number)
            pull = PullRequest(
                number=number,
                title=title,
                body=body,
                author=self._account,
                branch=branch,
                base_branch=base_branch,
                head=head,
                state=PullState.OPEN,
                labels=tuple(sorted(labels)),
                created_at=self._clock.now(),
                url=f"{self._directory.name}#{number}",
            )
            return {_pull_path(number): encode_pull(pull)}

        self._change(change, f"open a pull request for {branch}")
        return self.get_pull(opened[0])

    def get_pull(self, number: int) -> PullRequest:
        """One pull request with its present head, and the present rights of its reviewers."""
        data = self._state.read()[1].get(_pull_path(number))
        if data is None:
            raise ForgeError(f"there is no pull request {number}")
        pull = self._with_head(decode_pull(data))
        reviews = tuple(
            replace(review, can_write=review.approved and self.can_write(review.reviewer))
            for review in pull.reviews
        )
        return replace(pull, reviews=reviews)

    def list_pulls(
        self, *, state: PullState | None = None, branch: str = "", first: int = 1
    ) -> tuple[PullRequest, ...]:
        """Pull requests by number."""
        return tuple(
            self._with_head(pull)
            for pull in _pulls(self._state.read()[1])
            if pull.number >= first and state in (None, pull.state) and branch in ("", pull.branch)
        )

    def edit_pull(self, number: int, *, title: str, body: str) -> None:
        """Replace title and body."""
        self._edit(number, lambda pull: replace(pull, title=title, body=body), "edit")

    def close_pull(self, number: int) -> None:
        """Close without merging."""
        now = self._clock.now()

        def close(pull: PullRequest) -> PullRequest:
            if pull.state is not PullState.OPEN:
                return pull
            return replace(self._with_head(pull), state=PullState.CLOSED, closed_at=now)

        self._edit(number, close, "close")

    def approve_pull(self, number: int, *, reviewer: str) -> None:
        """Record an approving review of the present head."""
        now = self._clock.now()

        def approve(pull: PullRequest) -> PullRequest:
            head = self._with_head(pull).head
            review = Review(reviewer=reviewer, approved=True, commit=head, time=now)
            return replace(pull, reviews=(*pull.reviews, review))

        self._edit(number, approve, "approve")

    def set_labels(self, number: int, labels: tuple[str, ...]) -> None:
        """Replace the labels."""
        self._edit(number, lambda pull: replace(pull, labels=tuple(sorted(set(labels)))), "label")

    def merge_pull(self, number: int, *, method: MergeMethod, expected_head: str) -> PullRequest:
        """Merge into the base branch; the base is moved by compare-and-swap."""
        pull = self.get_pull(number)
        if pull.state is not PullState.OPEN:
            raise ForgeError(f"pull request {number} is {pull.state}, not open")
        if pull.head != expected_head:
            raise ConflictError(f"the head of pull request {number} is {pull.head} now")
        approvals = {
            review.reviewer
            for review in pull.reviews
            if review.approved and review.commit == pull.head and review.reviewer != pull.author
        }
        if len(approvals) < self.reviews_required:
            raise ForgeError(
                f"pull request {number} has {len(approvals)} of {self.reviews_required} approvals"
            )
        now = self._clock.now()
        base = self._head_of(pull.base_branch)
        if base is None:
            raise ForgeError(f"there is no branch {pull.base_branch}")
        merged = merge_commit(
            self._git, pull, base=base, method=method, account=self._account, time=now
        )
        self._git.run(["update-ref", f"refs/pull/{number}/head", pull.head])
        move_ref(self._git, f"refs/heads/{pull.base_branch}", merged, expected=base)
        self._edit(
            number,
            lambda present: replace(
                present,
                state=PullState.MERGED,
                head=pull.head,
                merged_head=pull.head,
                merge_commit=merged,
                merged_by=self._account,
                merged_at=now,
            ),
            "merge",
        )
        return self.get_pull(number)

    def list_comments(self, number: int) -> tuple[Comment, ...]:
        """Comments, oldest first."""
        return said.comments(self._state.read()[1], number)

    def get_comment(self, number: int, comment: int) -> Comment:
        """One comment on a pull request by its id."""
        for found in self.list_comments(number):
            if found.id == comment:
                return found
        raise ForgeError(f"there is no comment {comment} on pull request {number}")

    def upsert_comment(self, number: int, *, marker: str, body: str) -> Comment:
        """Write the one own comment that holds the marker."""
        now = self._clock.now()
        written: list[Comment] = []

        def change(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
            comment, changed = said.with_comment(
                files, number, marker=marker, body=body, account=self._account, now=now
            )
            written[:] = [comment]
            return changed

        self.get_pull(number)
        self._change(change, f"comment on pull request {number}")
        return written[0]

    def can_write(self, account: str) -> bool:
        """Everybody may write, but those whom `refuse_writing` names."""
        return account not in self._read_json("settings.json").get("readers", [])

    def refuse_writing(self, *accounts: str) -> None:
        """Name the accounts that may only read; those of before may write again."""
        self._settings({"readers": sorted(set(accounts))}, "name the readers")

    def upsert_issue(self, *, marker: str, title: str, body: str) -> Issue:
        """Write the one own issue that holds the marker."""
        written: list[Issue] = []

        def change(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
            issue, changed = said.with_issue(
                files,
                marker=marker,
                title=title,
                body=body,
                account=self._account,
                place=self._directory.name,
            )
            written[:] = [issue]
            return changed

        self._change(change, "write an issue")
        return written[0]

    def list_issues(self) -> tuple[Issue, ...]:
        """Issues by number."""
        return said.issues(self._state.read()[1])

    def set_check(self, commit: str, check: CheckRun) -> bool:
        """Write a check run, unless it says the same already."""
        now = self._clock.now()
        check_ref(commit)
        written: list[bool] = []

        def change(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
            changed = said.with_check(files, commit, check, now=now)
            written[:] = [bool(changed)]
            return changed

        self._change(change, f"check {check.name}")
        return written[0]

    def list_checks(self, commit: str) -> tuple[CheckRun, ...]:
        """The newest check run of each name."""
        return said.checks(self._state.read()[1], check_ref(commit))

    def set_status(self, commit: str, status: CommitStatus) -> None:
        """Write the newest state of a context, unless it says the same already."""
        now = self._clock.now()
        path = f"statuses/{check_ref(commit)}.json"

        def change(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
            statuses = {s.context: s for s in decode_statuses(files.get(path, b"[]"))}
            present = statuses.get(status.context)
            if present is not None and replace(present, time=0) == replace(status, time=0):
                return {}
            statuses[status.context] = replace(status, time=now)
            return {path: encode_statuses(tuple(statuses[key] for key in sorted(statuses)))}

        self._change(change, f"status {status.context}")

    def list_statuses(self, commit: str) -> tuple[CommitStatus, ...]:
        """The newest state of each context, check runs included."""
        files = self._state.read()[1]
        statuses = decode_statuses(files.get(f"statuses/{check_ref(commit)}.json", b"[]"))
        found = {status.context: status for status in statuses}
        found |= {check.name: check.status for check in said.checks(files, commit)}
        return tuple(found[context] for context in sorted(found))

    def _with_head(self, pull: PullRequest) -> PullRequest:
        if pull.state is not PullState.OPEN:
            return pull
        return replace(pull, head=self._head_of(pull.branch) or pull.head)

    def _head_of(self, branch: str) -> str | None:
        code, output = self._git.status(
            ["rev-parse", "--verify", "--quiet", f"refs/heads/{check_ref(branch)}"], accept=(0, 1)
        )
        return output.decode("ascii").strip() if code == 0 else None

    def _read_json(self, path: str) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self._state.read()[1].get(path, b"{}"))
        return data

    def _edit(self, number: int, edit: Callable[[PullRequest], PullRequest], verb: str) -> None:
        path = _pull_path(number)

        def change(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
            if path not in files:
                raise ForgeError(f"there is no pull request {number}")
            edited = encode_pull(edit(decode_pull(files[path])))
            return {} if edited == files[path] else {path: edited}

        self._change(change, f"{verb} pull request {number}")

    def _change(
        self, change: Callable[[Mapping[str, bytes]], Mapping[str, bytes]], message: str
    ) -> None:
        for attempt in range(_ATTEMPTS):
            tip, files = self._state.read()
            changed = change(files)
            if not changed:
                return
            try:
                self._state.write(tip, changed, message=message, time=self._clock.now())
            except ConflictError:
                if attempt == _ATTEMPTS - 1:
                    raise
            else:
                return


def _pull_path(number: int) -> str:
    return f"pulls/{number:06d}.json"


def _pulls(files: Mapping[str, bytes]) -> tuple[PullRequest, ...]:
    return tuple(decode_pull(files[path]) for path in sorted(files) if path.startswith("pulls/"))


def _dump(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
