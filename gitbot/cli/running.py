"""What the commands share that read or change the world: opening it, telling what happens."""

from __future__ import annotations

import functools
import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitbot.adapters.files import find_root
from gitbot.errors import Bug, GitbotError, Interrupted, UsageError
from gitbot.model.instants import format_instant

if TYPE_CHECKING:
    from gitbot.adapters.signals import Stop
    from gitbot.ports.cluster import Cluster
    from gitbot.workflows.shell import Progress, Shell

F = TypeVar("F", bound=Callable[..., Any])


def running_options(function: F) -> F:
    """--cluster, --kubeconfig, --context; the command gets `where`, for `running`."""

    @functools.wraps(function)
    def gather(**kwargs: Any) -> Any:
        where = {name: kwargs.pop(name) or "" for name in ("cluster", "kubeconfig", "context")}
        return function(where=where, **kwargs)

    command: Any = gather
    for option in (
        click.option("--context", metavar="NAME", help="The kubeconfig context to use."),
        click.option("--kubeconfig", metavar="FILE", help="The kubeconfig file to use."),
        click.option("--cluster", metavar="NAME", help="Which cluster of the configuration."),
    ):
        command = option(command)
    result: F = command
    return result


def by_option(function: F) -> F:
    """--by; the command gets `by`, the name of the person, by default that of the login."""
    return click.option(
        "--by", metavar="NAME", default=_login, help="Who says so, for the record."
    )(function)


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no such user in a container
        return ""


@contextmanager
def running(where: dict[str, str]) -> Iterator[Shell]:
    """The shell of one cluster of the repository that the command is called in."""
    from gitbot.cli.checking import pick_cluster  # noqa: PLC0415 - keeps --help quick
    from gitbot.wiring import open_shell, open_workspace  # noqa: PLC0415

    root = find_root(Path.cwd())
    with open_workspace(
        root, kubeconfig=where["kubeconfig"], context=where["context"]
    ) as workspace:
        cluster = pick_cluster(workspace.settings, where["cluster"])
        yield open_shell(workspace, cluster, progress=tell)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """A run that ends at its next safe point when somebody asks; it calls `beat` while it rests."""

    stop: Stop
    beat: Callable[[], None] | None = None

    def of(self, shell: Shell) -> Shell:
        """The shell whose rests end, and which begins nothing more, when somebody asks."""
        from gitbot.adapters.signals import StoppableClock  # noqa: PLC0415 - keeps --help quick

        clock = StoppableClock(shell.clock, self.stop, self.beat)
        return replace(shell, clock=clock, interrupted=self.stop.asked)


@contextmanager
def stopping(beat: Callable[[], None] | None = None) -> Iterator[Stopping]:
    """SIGINT and SIGTERM ask the run inside to end. Interrupted where only they made it fail."""
    from gitbot.adapters.signals import stop_on_signals  # noqa: PLC0415 - keeps --help quick

    with stop_on_signals() as stop:
        try:
            yield Stopping(stop=stop, beat=beat)
        except Bug:
            raise
        except GitbotError as error:
            if stop.asked():  # the signal reached a child such as git as well
                raise Interrupted(f"ended as asked: {error}") from error
            raise


def cluster_alone(where: dict[str, str]) -> Cluster:
    """The cluster without repository and forge, as the work tree names it: for stopping only.

    Where the work tree cannot say it, the one that --kubeconfig or --context name by hand. Raises
    UsageError, InvalidInput and ClusterError.
    """
    from gitbot.cli.checking import pick_cluster  # noqa: PLC0415 - keeps --help quick
    from gitbot.wiring import open_cluster, settings_here  # noqa: PLC0415

    kubeconfig, context = where["kubeconfig"], where["context"]
    try:
        settings = settings_here(find_root(Path.cwd()))
    except GitbotError as error:
        if isinstance(error, Bug):
            raise
        if not (kubeconfig or context):
            hint = "name the cluster by hand with --kubeconfig or --context"
            raise UsageError(error.message, hint=hint) from error
        name = where["cluster"] or context or "cluster"
        return open_cluster(name=name, kubeconfig=kubeconfig, context=context)
    name = pick_cluster(settings, where["cluster"])
    named = settings.cluster(name)
    context = context or (named.context if named else "")
    return open_cluster(name=name, kubeconfig=kubeconfig, context=context)


def tell(progress: Progress) -> None:
    """One line of progress on stderr."""
    say(f"{format_instant(progress.time)} {progress.text}", err=True)


def say(text: str, *, err: bool = False) -> None:
    """Lines for people: what others wrote into them cannot act on a terminal."""
    from gitbot.reports.inert import terminal  # noqa: PLC0415 - keeps --help quick

    for line in text.split("\n"):
        click.echo(terminal(line), err=err)
