"""What is said on the local forge: comments, check runs and issues, as files of its state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from gitbot.ports.forge import (
    Annotation,
    AnnotationLevel,
    CheckRun,
    CheckState,
    Comment,
    Issue,
    is_marked,
)

Files = Mapping[str, bytes]


def comments(files: Files, number: int) -> tuple[Comment, ...]:
    """Comments on a pull request, oldest first."""
    return tuple(Comment(**item) for item in _load(files, _comments_path(number)))


def with_comment(
    files: Files, number: int, *, marker: str, body: str, account: str, now: int
) -> tuple[Comment, Files]:
    """The account's one comment with the marker, and the files that change."""
    present = list(comments(files, number))
    mine = (
        i
        for i, item in enumerate(present)
        if is_marked(item.body, marker) and item.author == account
    )
    place = next(mine, None)
    text = body if is_marked(body, marker) else f"{marker}\n{body}"
    if place is not None and present[place].body == text:
        return present[place], {}
    if place is None:
        identity = 1 + max((comment.id for comment in present), default=0)
        present.append(Comment(id=identity, author=account, body=text, time=now))
        place = len(present) - 1
    else:
        present[place] = replace(present[place], body=text, edited=now)
    return present[place], {_comments_path(number): _dump([asdict(item) for item in present])}


def checks(files: Files, commit: str) -> tuple[CheckRun, ...]:
    """The newest check run of each name."""
    return tuple(_check(item) for item in _load(files, _checks_path(commit)))


def with_check(files: Files, commit: str, check: CheckRun, *, now: int) -> Files:
    """The files that change for a check run; none where it stands already."""
    known = {item.name: item for item in checks(files, commit)}
    present = known.get(check.name)
    if present is not None and replace(present, time=0) == replace(check, time=0):
        return {}
    known[check.name] = replace(check, time=now)
    return {_checks_path(commit): _dump([asdict(known[name]) for name in sorted(known)])}


def issues(files: Files) -> tuple[Issue, ...]:
    """Issues by number."""
    paths = sorted(path for path in files if path.startswith("issues/"))
    return tuple(Issue(**json.loads(files[path])) for path in paths)


def with_issue(
    files: Files, *, marker: str, title: str, body: str, account: str, place: str
) -> tuple[Issue, Files]:
    """The account's one issue with the marker, and the files that change."""
    present = issues(files)
    text = body if is_marked(body, marker) else f"{marker}\n{body}"
    mine = (item for item in present if is_marked(item.body, marker) and item.author == account)
    known = next(mine, None)
    if known is None:
        number = 1 + max((item.number for item in present), default=0)
        url = f"{place}/issues/{number}"
        issue = Issue(number=number, title=title, body=text, author=account, url=url)
    else:
        issue = replace(known, title=title, body=text)
    if issue == known:
        return issue, {}
    return issue, {f"issues/{issue.number:06d}.json": _dump(asdict(issue))}


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


def _dump(value: Any) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()
