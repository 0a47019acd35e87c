"""How people name nodes on the command line, and whether these go together or one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
MOST_AT_ONCE = 1000  # as maxNodesAtOnce
_TYPE = re.compile(r"^(?:nodes?|no)/")


def node_names(words: Iterable[str]) -> tuple[str, ...]:
    """Names of nodes, each once: also node/NAME, `node NAME`, and several with commas between."""
    names = [name for word in words for name in word.split(",") if name]
    if len(names) > 1 and _TYPE.fullmatch(f"{names[0]}/"):
        del names[0]
    return tuple(dict.fromkeys(_TYPE.sub("", name) for name in names))


class RollingCommand(click.Command):
    """A command with `rolling_option`.

    click would take the word after an option for its value: `--rolling n1` names a node, and the
    order of the words is the order in which the nodes go.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_with_number(args)))


def _with_number(args: list[str]) -> Iterator[str]:
    for index, word in enumerate(args):
        following = "".join(args[index + 1 : index + 2])
        if word == "--":
            yield from args[index:]
            return
        bare = word == "--rolling" and not (following.isascii() and following.isdigit())
        yield "--rolling=1" if bare else word


def rolling_option(function: F) -> F:
    """--rolling of a RollingCommand; the command gets how many nodes go at once, None for all."""
    return click.option(
        "--rolling",
        type=click.IntRange(1, MOST_AT_ONCE),
        metavar="[N]",
        help="One after the other, N at once (1); default: all at the same time, or none.",
    )(function)
