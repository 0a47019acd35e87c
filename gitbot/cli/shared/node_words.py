"""How people name nodes on the command line, and whether these go together or one by one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
MOST_AT_ONCE = 1000  # as maxNodesAtOnce
_TYPE = re.compile(r"^(?:nodes?|no)/")


def node_names(words: Iterable[str]) -> tuple[str, ...]:
    """Names of nodes, each once: also node/NAME, and several with commas between them."""
    names = [name for word in words for name in word.split(",") if name]
    return tuple(dict.fromkeys(_TYPE.sub("", name) for name in names))


def rolling_option(function: F) -> F:
    return click.option(
        "--rolling",
        is_flag=False,
        flag_value="1",
        metavar="[N]",
        help="One after the other, N at once (1); default: all at the same time, or none.",
    )(function)


def rolling_nodes(words: tuple[str, ...], rolling: str | None) -> tuple[tuple[str, ...], int]:
    """The words for nodes, and how many go at once; 0: all together.

    `--rolling n1 n2` names two nodes: click takes the word after the option for its number.
    """
    if rolling is None:
        return words, 0
    if not rolling.isdigit():
        return (rolling, *words), 1
    if not 1 <= int(rolling) <= MOST_AT_ONCE:
        expected = f"expected a number from 1 to {MOST_AT_ONCE}"
        raise click.BadParameter(f"--rolling: found {rolling}, {expected}")
    return words, int(rolling)
