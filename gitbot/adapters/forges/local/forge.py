"""The local forge: pull requests kept in a bare Git repository, without any service.

Everything about pull requests is stored as JSON files on `refs/gitbot/forge` of the bare repository
itself; `refs/pull/<N>/head` keeps heads of pull requests alive. The whole flow (open, review,
merge, statuses, sticky comments) is thus real Git.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from gitbot.adapters.forges.local import comments as said
from gitbot.adapters.forges.local.comments import (
    decode_pull,
    decode_statuses,
    dump,
    encode_pull,
    encode_statuses,
)
from gitbot.adapters.forges.local.merge import merge_commit
from gitbot.adapters.forges.local.plain_merge import PlainMerge, plain_merge
from gitbot.adapters.forges.local.setup import CAPABILITIES
from gitbot.adapters.git import Git, RefState, check_ref, move_ref, tip_of
from gitbot.errors import ConflictError, ForgeError, RepositoryError
from gitbot.execution.approval import PullReview
from gitbot.ports.clock import Clock
from gitbot.ports.forge import (
    CheckRun,
    Comment,
    CommitStatus,
    ForgeRequests,
    Issue,
    MergeMethod,
    PullRequest,
    PullState,
)
from gitbot.ports.idempotence import is_up_to_date

_STATE_REF = "refs/gitbot/forge"
_ATTEMPTS = 8  # lost races of one change before giving up
Files = said.Files
_Result = TypeVar("_Result")


class LocalForge:
    """The Forge port over a bare repository on disk.

    `account` acts through this value: gitbot's own account, or a person in a demo or test.
    `required` approvals are what the configuration says; None: what the repository's settings say.
    """

    capabilities = CAPABILITIES

    def __init__(
        self,
        directory: Path,
        *,
        clock: Clock,
        account: str = "gitbot",
        bot: str = "gitbot",
        required: int | None = None,
    ) -> None:
        if not (directory / "HEAD").exists():
            said, hint = (
                f"{directory} is not a bare Git repository",
                "make one with `git init --bare`",
            )
            if ":" in "".join(directory.parts[:1]):  # an address, which may hold a password
                said = "a local forge is a bare repository on this machine, and the remote is not"
                hint = "for GitHub write forge: {type: github} in .gitbot.yaml"
            raise ForgeError(said, hint=hint)
        self._directory = directory
        self._git = Git.of_repository(directory)
        self._state = RefState(self._git, _STATE_REF)
        self._plain_merges: dict[tuple[str, str, str], PlainMerge | None] = {}
        self._clock = clock
        self.account = account
        self.bot = bot
        self._required = required

    @classmethod
    def create(
        cls, directory: Path, *, clock: Clock, account: str = "gitbot", branch: str = "main"
    ) -> LocalForge:
        directory.mkdir(parents=True, exist_ok=True)
        Git(directory).run(
            ["init", "--bare", "--quiet", "--template=", f"--initial-branch={check_ref(branch)}"]
        )
        return cls(directory, clock=clock, account=account)

    def acting_as(self, account: str) -> LocalForge:
        other = copy(self)  # with what was read already
        other.account = account
        return other

    @property
    def reviews_required(self) -> int:
        if self._required is not None:
            return self._required
        return int(self._read_json("settings.json").get("reviewsRequired", 0))

    @property
    def clock_skew(self) -> int:
        return 0

    @property
    def requests(self) -> ForgeRequests:
        return ForgeRequests()

    def require_reviews(self, count: int) -> None:
        self._settings({"reviewsRequired": count}, "require reviews")

    def _settings(self, wanted: Mapping[str, Any], message: str) -> None:
        def change(files: Files) -> tuple[None, Files]:
            known = json.loads(files.get("settings.json", b"{}"))
            return None, {"settings.json": dump({**known, **wanted})}

        self._change(change, message)

    def open_pull(
        self, *, branch: str, base_branch: str, title: str, body: str, labels: tuple[str, ...]
    ) -> PullRequest:
        head = self._head_of(branch)
        if head is None:
            raise ForgeError(f"there is no branch {branch}", hint="push it first")
        base = self._head_of(base_branch) or ""

        def change(files: Files) -> tuple[int, Files]:
            pulls = _pulls(files)
            present = [p for p in pulls if p.branch == branch and p.state is PullState.OPEN]
            if present:
                return present[0].number, {}
            number = 1 + max((pull.number for pull in pulls), default=0)
            pull = PullRequest(
                number=number,
                title=title,
                body=body,
                author=self.account,
                branch=branch,
                base_branch=base_branch,
                head=head,
                state=PullState.OPEN,
                labels=tuple(sorted(labels)),
                created_at=self._clock.now(),
                url=f"{self._directory.name}#{number}",
            )
            return number, {_pull_path(number): encode_pull(pull), _base_path(number): dump(base)}

        return self.get_pull(self._change(change, f"open a pull request for {branch}"))

    def get_pull(self, number: int) -> PullRequest:
        data = self._state.read()[1].get(_pull_path(number))
        if data is None:
            hint = "gitbot pulls --all lists them"
            raise ForgeError(f"there is no pull request {number}", hint=hint)
        pull = self._as_it_is(decode_pull(data))
        reviews = tuple(
            replace(review, can_write=review.approved and self.can_write(review.reviewer))
            for review in pull.reviews
        )
        return replace(pull, reviews=reviews)

    def list_pulls(
        self, *, state: PullState | None = None, branch: str = "", first: int = 1
    ) -> tuple[PullRequest, ...]:
        found = [
            self._as_it_is(pull)
            for pull in _pulls(self._state.read()[1])
            if pull.number >= first and branch in ("", pull.branch)
        ]
        return tuple(pull for pull in found if state in (None, pull.state))

    def edit_pull(self, number: int, *, title: str, body: str) -> None:
        self._edit(number, lambda pull: replace(pull, title=title, body=body), "edit")

    def close_pull(self, number: int) -> None:
        now = self._clock.now()

        def close(pull: PullRequest) -> PullRequest:
            if pull.state is not PullState.OPEN:
                return pull
            return replace(self._with_head(pull), state=PullState.CLOSED, closed_at=now)

        self._edit(number, close, "close")

    def approve_pull(self, number: int, *, reviewer: str, head: str = "") -> None:
        """Record an approving review of a head, by default the current one, by a person."""
        now = self._clock.now()

        def approve(pull: PullRequest) -> PullRequest:
            seen = head or self._with_head(pull).head
            review = PullReview(reviewer=reviewer, approved=True, commit=seen, time=now)
            return replace(pull, reviews=(*pull.reviews, review))

        self._edit(number, approve, "approve")

    def set_labels(self, number: int, labels: tuple[str, ...]) -> None:
        self._edit(number, lambda pull: replace(pull, labels=tuple(sorted(set(labels)))), "label")

    def merge_pull(self, number: int, *, method: MergeMethod, expected_head: str) -> PullRequest:
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
            self._git, pull, base=base, method=method, account=self.account, time=now
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
                merged_by=self.account,
                merged_at=now,
            ),
            "merge",
        )
        return self.get_pull(number)

    def list_comments(self, number: int) -> tuple[Comment, ...]:
        return said.comments(self._state.read()[1], number)

    def get_comment(self, number: int, comment: int) -> Comment:
        for found in self.list_comments(number):
            if found.id == comment:
                return found
        raise ForgeError(f"there is no comment {comment} on pull request {number}")

    def upsert_comment(self, number: int, *, marker: str, body: str) -> Comment:
        now = self._clock.now()
        self.get_pull(number)
        return self._change(
            lambda files: said.with_comment(
                files, number, marker=marker, body=body, account=self.account, now=now
            ),
            f"comment on pull request {number}",
        )

    def can_write(self, account: str) -> bool:
        return account not in self._read_json("settings.json").get("readers", [])

    def has_pushed(self, account: str, head: str) -> bool:  # noqa: ARG002 - pushes have no account
        return True

    def team_members(self, team: str) -> frozenset[str] | None:
        known = self._read_json("settings.json").get("teams", {})
        return frozenset(known[team]) if team in known else None

    def name_team(self, team: str, members: Iterable[str]) -> None:
        """Set the accounts of `@org/team`; a team of nobody is removed."""
        teams = {**self._read_json("settings.json").get("teams", {}), team: sorted(set(members))}
        self._settings({"teams": {key: teams[key] for key in teams if teams[key]}}, "name a team")

    def upsert_issue(self, *, marker: str, title: str, body: str) -> Issue:
        return self._change(
            lambda files: said.with_issue(
                files,
                marker=marker,
                title=title,
                body=body,
                account=self.account,
                place=self._directory.name,
            ),
            "write an issue",
        )

    def set_check(self, commit: str, check: CheckRun) -> bool:
        now = self._clock.now()
        check_ref(commit)
        return self._change(
            lambda files: said.with_check(files, commit, check, now=now), f"check {check.name}"
        )

    def list_checks(self, commit: str) -> tuple[CheckRun, ...]:
        return said.checks(self._state.read()[1], check_ref(commit))

    def set_status(self, commit: str, status: CommitStatus) -> None:
        now = self._clock.now()
        path = f"statuses/{check_ref(commit)}.json"

        def change(files: Files) -> tuple[None, Files]:
            statuses = {s.context: s for s in decode_statuses(files.get(path, b"[]"))}
            if is_up_to_date(statuses.get(status.context), status):
                return None, {}
            statuses[status.context] = replace(status, time=now)
            return None, {path: encode_statuses(tuple(statuses[key] for key in sorted(statuses)))}

        self._change(change, f"status {status.context}")

    def list_statuses(self, commit: str) -> tuple[CommitStatus, ...]:
        files = self._state.read()[1]
        statuses = decode_statuses(files.get(f"statuses/{check_ref(commit)}.json", b"[]"))
        found = {status.context: status for status in statuses}
        found |= {check.name: check.status for check in said.checks(files, commit)}
        return tuple(found[context] for context in sorted(found))

    def _with_head(self, pull: PullRequest) -> PullRequest:
        if pull.state is not PullState.OPEN:
            return pull
        return replace(pull, head=self._head_of(pull.branch) or pull.head)

    def _as_it_is(self, pull: PullRequest) -> PullRequest:
        """With the head that its branch has now, or merged by plain Git; that is noted then."""
        pull = self._with_head(pull)
        base, opened = self._head_of(pull.base_branch), self._opened_on(pull.number)
        if pull.state is not PullState.OPEN or not base or base == opened or not opened:
            return pull
        key = (pull.head, base, opened)
        if key not in self._plain_merges:
            self._plain_merges[key] = plain_merge(self._git, pull.head, base=base, opened=opened)
        found = self._plain_merges[key]
        if found is None:
            return pull
        now = self._clock.now()
        time = now if found.time is None else min(max(found.time, pull.created_at), now)

        def merged(known: PullRequest) -> PullRequest:
            if known.state is not PullState.OPEN:
                return known
            return replace(
                known,
                state=PullState.MERGED,
                head=pull.head,
                merged_head=pull.head,
                merge_commit=found.commit,
                merged_by=found.by,
                merged_at=time,
            )

        with suppress(ConflictError, RepositoryError):  # who may only read sees the same
            self._edit(pull.number, merged, "note the merge of")
        return merged(pull)

    def _opened_on(self, number: int) -> str:
        """The tip of the base branch when it was opened; "" if an older gitbot opened it."""
        return str(json.loads(self._state.read()[1].get(_base_path(number), b'""')))

    def _head_of(self, branch: str) -> str | None:
        return tip_of(self._git, f"refs/heads/{check_ref(branch)}") or None

    def _read_json(self, path: str) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self._state.read()[1].get(path, b"{}"))
        return data

    def _edit(self, number: int, edit: Callable[[PullRequest], PullRequest], verb: str) -> None:
        path = _pull_path(number)

        def change(files: Files) -> tuple[None, Files]:
            if path not in files:
                raise ForgeError(f"there is no pull request {number}")
            edited = encode_pull(edit(decode_pull(files[path])))
            return None, {} if edited == files[path] else {path: edited}

        self._change(change, f"{verb} pull request {number}")

    def _change(
        self,
        change: Callable[[Files], tuple[_Result, Files]],
        message: str,
        *,
        attempts: int = _ATTEMPTS,
    ) -> _Result:
        tip, files = self._state.read()
        result, changed = change(files)
        try:
            if changed:
                self._state.write(tip, changed, message=message, time=self._clock.now())
        except ConflictError:
            if attempts == 1:
                raise
            return self._change(change, message, attempts=attempts - 1)
        return result


def _pull_path(number: int) -> str:
    return f"pulls/{number:06d}.json"


def _base_path(number: int) -> str:
    return f"bases/{number:06d}.json"


def _pulls(files: Files) -> tuple[PullRequest, ...]:
    return tuple(decode_pull(files[path]) for path in sorted(files) if path.startswith("pulls/"))
