"""What each type of forge brings: how to open it, and how `gitbot init` sets it up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gitbot.ports.clock import Clock

if TYPE_CHECKING:
    from gitbot.adapters.git import Access
    from gitbot.ports.forge import Forge, ForgeCapabilities

Choices = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The intents repository of a forge: its address for Git, and Git's access to it.

    `forge` opens its pull requests; it takes the configured `requiredReviews` and the account of
    the person who acts, or gitbot's.
    """

    remote: str
    access: Callable[[], Access]
    forge: Callable[[int | None, str, Clock], Forge]


class Connect(Protocol):
    """Find the repository without opening it. Raises UsageError and ForgeError."""

    def __call__(
        self, root: Path, *, address: str, repository: str, base_branch: str
    ) -> Connection:
        """`root` is the work tree; the configuration names `address` ("" = none) and the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOption:
    """An option of `gitbot init` that only this forge uses.

    `question` is asked on a terminal if the option is missing or wrong; "" asks nothing.
    """

    name: str
    help: str
    metavar: str
    default: str = ""
    question: str = ""

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeSetup:
    """What `gitbot init` writes for a forge.

    `problems` yields name and text of each option that it cannot use. `settings` is the value of
    `spec.forge` in YAML, `files` the text of each further file by its path in the repository; it
    takes the name of the cluster. `readme` says how to go on.
    """

    readme: str
    options: tuple[InitOption, ...] = ()
    problems: Callable[[Choices], Iterator[tuple[str, str]]] = lambda _choices: iter(())
    settings: Callable[[Choices], str]
    files: Callable[[Choices, str], Mapping[str, str]] = lambda _choices, _cluster: {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentEvent:
    """How a CI job about a comment says which one it is about.

    `variable` of the environment has a text from which `read` takes the numbers of issue and
    comment. It raises UsageError for another event.
    """

    variable: str
    read: Callable[[str], tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeType:
    """One value of `spec.forge.type`. `settings.REPOSITORY_RULES` has the rule for its repository.

    `comment_event` is None if no CI of this forge starts jobs for comments.
    """

    title: str
    capabilities: ForgeCapabilities
    connect: Connect
    setup: ForgeSetup
    comment_event: CommentEvent | None = None
