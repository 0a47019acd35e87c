"""The local forge's comments, check runs and issues, as files of its state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from gitbot.execution.approval import PullReview
from gitbot.ports.forge import (
    Annotation,
    AnnotationLevel,
    CheckRun,
    CheckState,
    Comment,
    CommitStatus,
    Issue,
    PullRequest,
    PullState,
    is_marked,
    marked,
)
from gitbot.ports.idempotence import is_up_to_date

Files = Mapping[str, bytes]


def comments(files: Files, number: int) -> tuple[Comment, ...]:
    return tuple(Comment(**item) for item in _load(files, _comments_path(number)))


def with_comment(
    files: Files, number: int, *, marker: str, body: str, account: str, now: int
) -> tuple[Comment, Files]:
    present = list(comments(files, number))
    mine = (
        i
        for i, item in enumerate(present)
        if is_marked(item.body, marker) and item.author == account
    )
    place = next(mine, None)
    text = marked(body, marker)
    if place is not None and is_up_to_date(present[place].body, text):
        return present[place], {}
    if place is None:
        identity = 1 + max((comment.id for comment in present), default=0)
        present.append(Comment(id=identity, author=account, body=text, time=now))
        place = len(present) - 1
    else:
        present[place] = replace(present[place], body=text, edited=now)
    return present[place], {_comments_path(number): dump([asdict(item) for item in present])}


def checks(files: Files, commit: str) -> tuple[CheckRun, ...]:
    return tuple(_check(item) for item in _load(files, _checks_path(commit)))


def with_check(files: Files, commit: str, check: CheckRun, *, now: int) -> tuple[bool, Files]:
    known = {item.name: item for item in checks(files, commit)}
    present = known.get(check.name)
    if is_up_to_date(present, check):
        return False, {}
    known[check.name] = replace(check, time=now)
    return True, {_checks_path(commit): dump([asdict(known[name]) for name in sorted(known)])}


def issues(files: Files) -> tuple[Issue, ...]:
    paths = sorted(path for path in files if path.startswith("issues/"))
    return tuple(Issue(**json.loads(files[path])) for path in paths)


def with_issue(
    files: Files, *, marker: str, title: str, body: str, account: str, place: str
) -> tuple[Issue, Files]:
    present = issues(files)
    text = marked(body, marker)
    mine = (item for item in present if is_marked(item.body, marker) and item.author == account)
    known = next(mine, None)
    if known is None:
        number = 1 + max((item.number for item in present), default=0)
        url = f"{place}/issues/{number}"
        issue = Issue(number=number, title=title, body=text, author=account, url=url)
    else:
        issue = replace(known, title=title, body=text)
    if is_up_to_date(known, issue):
        return issue, {}
    return issue, {f"issues/{issue.number:06d}.json": dump(asdict(issue))}


def _comments_path(number: int) -> str:
    return f"comments/{number:06d}.json"


def _checks_path(commit: str) -> str:
    return f"checks/{commit}.json"


def _check(item: dict[str, Any]) -> CheckRun:
    annotations = tuple(
        Annotation(**{**value, "level": AnnotationLevel(value["level"])})
        for value in item["annotations"]
    )
    return CheckRun(**{**item, "state": CheckState(item["state"]), "annotations": annotations})


def _load(files: Files, path: str) -> list[dict[str, Any]]:
    value: list[dict[str, Any]] = json.loads(files.get(path, b"[]"))
    return value


def encode_pull(pull: PullRequest) -> bytes:
    return dump(asdict(pull))


def decode_pull(data: bytes) -> PullRequest:
    value = json.loads(data)
    value["state"] = PullState(value["state"])
    value["labels"] = tuple(value["labels"])
    value["reviews"] = tuple(PullReview(**review) for review in value["reviews"])
    return PullRequest(**value)


def encode_statuses(statuses: tuple[CommitStatus, ...]) -> bytes:
    return dump([asdict(status) for status in statuses])


def decode_statuses(data: bytes) -> tuple[CommitStatus, ...]:
    return tuple(
        CommitStatus(**{**item, "state": CheckState(item["state"])}) for item in json.loads(data)
    )


def dump(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
