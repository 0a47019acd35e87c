"""Plain Kubernetes YAML, as kubectl writes it and people keep it: lenient where kubectl is.

Intents are read by `read_documents`, which is strict and knows positions; this door is for
objects of a cluster. Scalars follow YAML 1.2's core schema (no yes/no booleans, no sexagesimal,
no timestamps); anchors are fine, since people use them; a number with a fraction stays text, as
Kubernetes quantities are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from gitbot.errors import InvalidInput

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MAX_DEPTH = 200
"""Deepest nesting that is read; the deepest Kubernetes objects have about 30."""

_INT = "tag:yaml.org,2002:int"
_FLOAT = "tag:yaml.org,2002:float"
_BOOL = "tag:yaml.org,2002:bool"
_NULL = "tag:yaml.org,2002:null"


class _Loader(_Base):  # type: ignore[misc]
    """CSafeLoader with the core schema's scalars."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, Any]]] = {}  # noqa: RUF012 - yaml's own name


def _register() -> None:
    for tag, pattern, first in (
        (_BOOL, r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
        (_INT, r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
        (_FLOAT, r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
        (_NULL, r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
        ("tag:yaml.org,2002:merge", r"^(?:<<)$", "<"),
    ):
        _Loader.add_implicit_resolver(tag, re.compile(pattern), list(first))
    _Loader.add_constructor(_FLOAT, _text)
    _Loader.add_constructor("tag:yaml.org,2002:timestamp", _text)
    _Loader.add_constructor(_BOOL, _boolean)


def _text(loader: Any, node: Any) -> str:
    text: str = loader.construct_scalar(node)
    return text


def _boolean(loader: Any, node: Any) -> bool:
    return bool(loader.construct_scalar(node).lower() == "true")


_register()


def read_kubernetes_yaml(data: bytes, file: str) -> tuple[Any, ...]:
    """The values of all documents that are not empty, as plain data.

    `file` is only for messages. Raises InvalidInput with `file:line:column` where the text is no
    YAML.
    """
    try:
        if _suspicious(data):
            _check_depth(data, file)
        documents = list(yaml.load_all(data, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InvalidInput(f"{file}{place}: no YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        text = " ".join(str(error).split())
        raise InvalidInput(f"{file}: no YAML: {text}") from error
    return tuple(document for document in documents if document is not None)


def _suspicious(data: bytes) -> bool:
    """Whether nesting could be deep at all: it takes long lines or many brackets."""
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH:
        return True
    return len(max(data.splitlines(), key=len, default=b"")) > MAX_DEPTH


def _check_depth(data: bytes, file: str) -> None:
    """Refuse deep nesting from the event stream: the loader would recurse in C and crash."""
    depth = 0
    events: Iterator[Any] = yaml.parse(data, Loader=_Loader)
    for event in events:
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            depth += 1
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            line = event.start_mark.line + 1
            raise InvalidInput(f"{file}:{line}: no YAML: nested more than {MAX_DEPTH} deep")
