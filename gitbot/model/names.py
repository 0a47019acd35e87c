"""Names of things: namespaced names and references back to the line of an intent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class NamespacedName(NamedTuple):
    """A namespaced object's name. Ordered by (namespace, name) in code points.

    A tuple, because a planner looks names up all the time: a data class would hash them in Python.
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> NamespacedName:
        """Read `namespace/name`."""
        namespace, _, name = text.partition("/")
        return cls(namespace=namespace, name=name)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class IntentRef:
    """Which intent a constraint, goal or move came from, so that messages can say `file:line`."""

    kind: str
    namespace: str  # "" for kinds without a namespace
    name: str
    file: str = ""
    line: int = 0

    @property
    def id(self) -> str:
        """`Kind/namespace/name` (`Kind/name` without a namespace): stable over files and lines."""
        parts = (self.kind, self.namespace, self.name) if self.namespace else (self.kind, self.name)
        return "/".join(parts)

    @property
    def where(self) -> str:
        """`file:line`, or the id where no file is known."""
        return f"{self.file}:{self.line}" if self.file else self.id
