"""What REST answers about accounts, comments, issues and statuses say, as the port's values."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

from gitbot.errors import ForgeError
from gitbot.model.text.instants import parse_instant
from gitbot.ports.forge import CheckState, Comment, CommitStatus, Issue

GHOST = "ghost"  # the name of deleted accounts on GitHub, on Gitea Ghost
_C = TypeVar("_C")
# Python's errors if a value does not have the expected form.
_ANOTHER_FORM = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


def reads_answers(kind: type[_C]) -> type[_C]:
    """Makes the class's public methods raise ForgeError for responses of an unexpected form.

    An outage, a proxy or another program at that address is not a bug in gitbot. The object has its
    RestApi in `api`.
    """
    for name, found in vars(kind).copy().items():
        if name.startswith("_"):
            continue
        if isinstance(found, FunctionType):
            setattr(kind, name, _told(found))
        elif isinstance(found, property) and isinstance(found.fget, FunctionType):
            setattr(kind, name, property(_told(found.fget)))
    return kind


def _told(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def told(*args: Any, **named: Any) -> Any:
        try:
            return method(*args, **named)
        except _ANOTHER_FORM as error:
            api = args[0].api
            raise ForgeError(
                f"{api.name}'s answer has another form than expected: "
                f"{type(error).__name__}: {error}",
                hint=f"see whether {api.setting} is {api.name}'s API, "
                f"and whether {api.name} has an outage",
            ) from error

    return told


def login(user: Any) -> str:
    """The account's name; a deleted account is the ghost. GitLab has no `login`."""
    found = isinstance(user, dict) and (user.get("login") or user.get("username"))
    return str(found) if found else GHOST


def instant(text: Any) -> int:
    """Seconds UTC; 0 if missing."""
    return parse_instant(text) if text else 0


def comment_of(value: Any) -> Comment:
    """A comment; `edited` is 0 if it was never edited."""
    time, edited = instant(value["created_at"]), instant(value["updated_at"])
    return Comment(
        id=int(value["id"]),
        author=login(value.get("user")),
        body=str(value.get("body") or ""),
        time=time,
        edited=edited if edited > time else 0,
    )


def issue_of(value: Any) -> Issue:
    return Issue(
        number=int(value["number"]),
        title=str(value["title"]),
        body=str(value.get("body") or ""),
        author=login(value.get("user")),
        is_open=value["state"] == "open",
        url=str(value.get("html_url") or ""),
    )


def status_of(value: Any, *, key: str) -> CommitStatus:
    """`key` names the field with the state."""
    return CommitStatus(
        context=str(value["context"]),
        state=CheckState(value[key]),
        description=str(value.get("description") or ""),
        time=instant(value.get("updated_at") or value.get("created_at")),
        target_url=str(value.get("target_url") or ""),
    )


def text_of(value: Any, *path: str) -> str:
    """A text inside an answer. Raises ForgeError if it is missing."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, str):
        raise ForgeError(f"the forge's answer has no {'.'.join(path)}")
    return value
