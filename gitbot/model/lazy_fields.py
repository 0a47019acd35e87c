"""Fields computed on first use. Apart from struct: `lint` imports this, and no msgspec."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

V = TypeVar("V", bound="LazyFields")


class LazyFields:
    """The base of slotted values with such fields; use `with_later` to set them."""

    __slots__ = ("_later",)

    if not TYPE_CHECKING:  # the checker sees the fields

        def __getattr__(self, name: str) -> Any:
            makers = {} if name == "_later" else getattr(self, "_later", {})
            if name not in makers:
                raise AttributeError(f"a {type(self).__name__} has no {name}")
            object.__setattr__(self, name, makers[name]())
            return getattr(self, name)


def with_later(value: V, **makers: Callable[[], Any]) -> V:
    """The same value; each of these fields is computed on first use."""
    for name in makers:
        object.__delattr__(value, name)
    object.__setattr__(value, "_later", makers)
    return value
