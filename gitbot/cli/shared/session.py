"""What commands share that read or change the world: opening ports, reporting progress."""

from __future__ import annotations

import functools
import getpass
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from gitbot.errors import (
    Bug,
    ClusterError,
    ForgeError,
    GitbotError,
    RepositoryError,
    UsageError,
    UserInterrupt,
)
from gitbot.model.text.instants import format_instant
from gitbot.model.text.wording import meant
from gitbot.wiring import (
    StderrProgress,
    Stop,
    StoppableClock,
    SystemClock,
    find_root,
    stop_on_signals,
)

if TYPE_CHECKING:
    from gitbot.model.ledger.ledger import Ledger
    from gitbot.ports.cluster import Cluster
    from gitbot.settings import Settings
    from gitbot.wiring.workspace import Workspace
    from gitbot.workflows.core.context import Progress, RunContext

F = TypeVar("F", bound=Callable[..., Any])


def kubeconfig_options(function: F) -> F:
    context = click.option("--context", metavar="NAME", help="The kubeconfig context to use.")
    file = click.option("--kubeconfig", metavar="FILE", help="The kubeconfig file to use.")
    return file(context(function))


def running_options(function: F) -> F:
    @click.option("--cluster", metavar="NAME", help="Which cluster of the configuration.")
    @kubeconfig_options
    @functools.wraps(function)
    def gather(**kwargs: Any) -> Any:
        where = {name: kwargs.pop(name) or "" for name in ("cluster", "kubeconfig", "context")}
        return function(where=where, **kwargs)

    return cast("F", gather)


def by_option(function: F) -> F:
    """--by; the command gets `by`, by default the author of commits here, else the login."""
    return click.option(
        "--by",
        metavar="NAME",
        default=_person,
        help="Who asks for this, for the record. Default: Git's user.name.",
    )(function)


def _person() -> str:
    from gitbot.wiring.workspace import author_here  # noqa: PLC0415 - keeps --help quick

    return author_here() or _login()


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no such user in a container
        return ""


def pick_cluster(settings: Settings, name: str) -> str:
    """The cluster of that name, or the only one. The UsageError lists the choice."""
    names = settings.cluster_names
    name = name or (names[0] if len(names) == 1 else "")
    if settings.cluster(name) is not None:
        return name
    if name:
        settings.check_read(name)
    found = f"there is no cluster {name}" if name else "the configuration has several clusters"
    hint = meant(name, names, known="--cluster is one of")
    raise UsageError(found, hint=hint)


@dataclass(slots=True, kw_only=True)
class _Teller:
    """Prints lines of progress, or hands them to `tell`; `zone` once the configuration is read."""

    progress: StderrProgress
    tell: Callable[[Progress], None] | None
    zone: str = "UTC"

    def __call__(self, line: Progress) -> None:
        with self.progress.aside():
            (self.tell or partial(print_progress, zone=self.zone))(line)

    def note(self, text: str) -> None:
        from gitbot.workflows.core import context  # noqa: PLC0415 - keeps --help quick

        self(context.Progress(time=SystemClock().now(), text=text))


@contextmanager
def running(
    where: dict[str, str],
    *,
    copy: str = "",
    former: str | None = None,
    tell: Callable[[Progress], None] | None = None,
    follow: bool = False,
) -> Iterator[RunContext]:
    """The shell of one cluster of the repository around the working folder.

    It opens despite a broken configuration, so that one can look, hold and cancel. What carries
    something out reads the tip of the base branch, and refuses its errors. The shell's onlooker
    shows progress: who begins a stage ends it before it prints. With `former`, the name that the
    process used before or "", the cluster may be found. `tell` prints lines of progress, in a log
    without stages. `follow`: the cluster is listed once and then watched; for a log at once.
    """
    from gitbot.wiring.workspace import Follow, open_shell, open_workspace  # noqa: PLC0415

    root = find_root(Path.cwd())
    progress = StderrProgress(sys.stderr)

    told = _Teller(progress=progress, tell=tell)
    with ExitStack() as opened:
        if tell is None:  # a log has lines of one form, and none of a stage
            opened.enter_context(progress.shown())
        progress.begins("reading the repository")
        workspace = opened.enter_context(
            open_workspace(
                root,
                kubeconfig=where["kubeconfig"],
                context=where["context"],
                forgiving=True,
                copy=copy,
                follow=Follow(say=told.note, at_once=tell is not None) if follow else None,
            )
        )
        name = where["cluster"]
        if former is not None:
            name = _own_name(workspace, name, former)
        cluster = pick_cluster(workspace.settings, name)
        shell = open_shell(workspace, cluster, progress=told, onlooker=progress)
        told.zone = shell.zone
        progress.begins("")
        yield shell


def _own_name(workspace: Workspace, given: str, former: str) -> str:
    """The name of the cluster that this process works for, if the configuration has it.

    That is the given one, the former one, the only one, or what the ledger calls the cluster that
    is reached; a renamed one starts nothing until `gitbot ledger adopt`. Raises UsageError.
    """
    names = workspace.settings.cluster_names
    if given or former in names:
        name = given or former
    elif len(names) == 1:
        name = names[0]
    else:
        name = _noted_name(workspace)
    if workspace.settings.cluster(name) is not None:
        return name
    if name:
        workspace.settings.check_read(name)
    choice = " or ".join(f"--cluster={item}" for item in names)
    if not name:
        raise UsageError(
            "the configuration has several clusters, and this one does not say which it is",
            hint=f"add to the arguments of its Deployment: {choice}",
        )
    raise UsageError(
        f"the configuration has no cluster {name}, which this process works for",
        hint=f"if it was renamed, set {choice} in the arguments of its Deployment, and accept the "
        "name with `gitbot ledger adopt`",
    )


def _noted_name(workspace: Workspace) -> str:
    """What the ledger calls the cluster that is reached, or ""."""
    from gitbot.wiring.workspace import cluster_here  # noqa: PLC0415 - the client is heavy
    from gitbot.workflows.ledger.anchor import known_name  # noqa: PLC0415 - keeps --help quick

    with suppress(ClusterError), cluster_here(workspace.kubeconfig, workspace.context) as cluster:
        return known_name(cluster, workspace.ledger_name, workspace.ledger)
    return ""


@contextmanager
def stages(first: str) -> Iterator[StderrProgress]:
    """Show on stderr which stage a command is in. End it before anything is printed."""
    progress = StderrProgress(sys.stderr)
    with progress.shown():
        progress.begins(first)
        yield progress


@contextmanager
def open_read_only(where: dict[str, str], *, human: bool) -> Iterator[tuple[RunContext, str]]:
    """As `running`, to look only: without the forge, at what Git still has, and why.

    That is what the forge's Git answers while its API does not, else what the clone fetched last.
    Then the first line says so: on standard output for people, else on standard error.
    """
    with ExitStack() as opened:
        try:
            shell, stale = opened.enter_context(running(where)), ""
            shell.onlooker.begins("reading the forge")
            shell.own_pulls()  # the page cannot be trusted without them
            shell.onlooker.begins("")
        except (RepositoryError, ForgeError) as error:
            opened.close()
            shell, words = _without_forge(opened, where, error)
            stale = error.message
            say(f"{words}: {stale}; pull requests are not known", err=not human)
        yield shell, stale


def _without_forge(
    opened: ExitStack, where: dict[str, str], error: GitbotError
) -> tuple[RunContext, str]:
    """A shell on a copy of what Git has, and what it is. Raises `error` if there is nothing."""
    from gitbot.wiring.forge_reads import fetched_now, last_fetched  # noqa: PLC0415 - Git only where used

    root = find_root(Path.cwd())
    if isinstance(error, ForgeError):
        with suppress(RepositoryError, ForgeError):
            copy = opened.enter_context(fetched_now(root))
            return opened.enter_context(
                running(where, copy=copy)
            ), "Git answers, the forge does not"
    try:
        copy = opened.enter_context(last_fetched(root))
        shell = opened.enter_context(running(where, copy=copy))
    except RepositoryError:
        raise error from error.__cause__
    return shell, age_of(shell.ledger_store.read(), shell.clock.now())


def age_of(ledger: Ledger, now: int) -> str:
    """How old the clone's own ledger is, in words."""
    from gitbot.calendar import format_duration  # noqa: PLC0415 - keeps --help quick

    if not ledger.events:
        return "no ledger was read, and this clone has none"
    last = ledger.events[-1].time
    age = format_duration(max(0, now - last))
    return f"the ledger is this clone's, its last entry {age} old ({format_instant(last)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class GracefulStop:
    """A run that ends at its next safe point on request; it calls `beat` while it rests."""

    stop: Stop
    beat: Callable[[], None] | None = None

    def of(self, shell: RunContext) -> RunContext:
        """The shell with rests that end on request; it begins nothing after that."""
        clock = StoppableClock(shell.clock, self.stop, self.beat)
        return replace(shell, clock=clock, interrupted=self.stop.asked)


@contextmanager
def stopping(beat: Callable[[], None] | None = None) -> Iterator[GracefulStop]:
    """SIGINT and SIGTERM ask the run to end; if it then fails, Interrupted replaces the error."""
    with stop_on_signals() as stop:
        try:
            yield GracefulStop(stop=stop, beat=beat)
        except Bug:
            raise
        except GitbotError as error:
            if stop.asked():  # the signal reached a child such as git as well
                raise UserInterrupt(f"ended as asked: {error}") from error
            raise


def cluster_alone(where: dict[str, str]) -> Cluster:
    """The cluster without repository and forge, as the work tree names it: for stopping only.

    If the work tree does not name it, the one that --kubeconfig or --context name. Raises
    UsageError, InvalidInput and ClusterError.
    """
    from gitbot.wiring.clusters import open_cluster  # noqa: PLC0415 - the client is heavy
    from gitbot.wiring.workspace import settings_here  # noqa: PLC0415

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
    name = where["cluster"]
    if settings.cluster_names or not name:  # a pod may not have the files of clusters
        name = pick_cluster(settings, name)
    named = settings.cluster(name)
    context = context or (named.context if named else name)
    return open_cluster(name=name, kubeconfig=kubeconfig, context=context)


def colour() -> bool:
    """Colour only on a terminal, and never with NO_COLOR."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def print_progress(progress: Progress, *, zone: str = "UTC") -> None:
    """One line on standard error; its time is the zone's, as in every table."""
    from gitbot.calendar import clock_time  # noqa: PLC0415 - keeps --help quick

    local = clock_time(progress.time, zone)
    say(f"{local:%Y-%m-%d %H:%M:%S} {zone} {progress.text}", err=True)


def times_of(shell: RunContext) -> Callable[[str], str]:
    """Says the instants of a line in the cluster's zone, and how far away they are."""
    from gitbot.calendar import localized  # noqa: PLC0415 - keeps --help quick

    return partial(localized, zone=shell.zone, now=shell.clock.now())


def say(text: str, *, err: bool = False) -> None:
    """Print lines for people; control characters in them cannot act on a terminal."""
    from gitbot.reports.escape import terminal  # noqa: PLC0415 - keeps --help quick

    for line in text.split("\n"):
        click.echo(terminal(line), err=err)
