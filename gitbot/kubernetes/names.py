"""Names of namespaced objects."""

from __future__ import annotations

from typing import NamedTuple


class NamespacedName(NamedTuple):
    """The name of a namespaced object, ordered by (namespace, name) in code points.

    A tuple, because the planner looks names up constantly, and a dataclass would hash in Python.
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> NamespacedName:
        namespace, _, name = text.partition("/")
        return cls(namespace=namespace, name=name)
