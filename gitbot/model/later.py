"""A field of a frozen value that is made when it is first asked for: costly, seldom asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

V = TypeVar("V", bound="Later")


class Later:
    """The base of slotted values with such fields; `with_later` makes them."""

    __slots__ = ("_later",)

    if not TYPE_CHECKING:  # the checker sees the fields

        def __getattr__(self, name: str) -> Any:
            makers = {} if name == "_later" else getattr(self, "_later", {})
            if callable(makers) and name in self.__slots__:  # the whole value is made later
                made = makers()
                for field in self.__slots__:
                    object.__setattr__(self, field, getattr(made, field))
            elif callable(makers) or name not in makers:
                raise AttributeError(f"a {type(self).__name__} has no {name}")
            else:
                object.__setattr__(self, name, makers[name]())
            return getattr(self, name)


def with_later(value: V, **makers: Callable[[], Any]) -> V:
    """The same value, of which these fields are made when they are first asked for."""
    for name in makers:
        object.__delattr__(value, name)
    object.__setattr__(value, "_later", makers)
    return value


def made_later(kind: type[V], make: Callable[[], V]) -> V:
    """A value that equals what `make` gives, and that is made when its first field is asked for."""
    value = kind.__new__(kind)
    object.__setattr__(value, "_later", make)
    return value
