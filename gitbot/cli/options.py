"""Options that several commands share, with kubectl's names, and what they open."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gitbot.adapters.clock import SystemClock
from gitbot.cli.running import say
from gitbot.errors import ClusterError, SnapshotError, UsageError
from gitbot.model.instants import parse_instant

if TYPE_CHECKING:
    from gitbot.model.cluster import ClusterSnapshot
    from gitbot.ports.cluster import Cluster

_EARLIEST, _LATEST = 946_684_800, 7_258_118_400  # the years that schedules may name, in UTC
STDIN = "standard input"
_WITHOUT = "--snapshot FILE to work without a cluster"
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccess:
    """Where the state of a cluster comes from: snapshot files, or a cluster of a kubeconfig.

    `kubeconfig` and `context` are "" for kubectl's defaults. `name` is the cluster's name in the
    configuration; "" where there is none, then the context's name counts.
    """

    kubeconfig: str = ""
    context: str = ""
    snapshots: tuple[str, ...] = ()
    name: str = ""

    def of(self, *, name: str, context: str = "") -> ClusterAccess:
        """The same for a cluster of the configuration; an option given by hand wins."""
        return replace(self, name=name, context=self.context or context)


def cluster_options(function: F) -> F:
    """--kubeconfig, --context and --snapshot; the command gets them as `access`."""

    # wraps also carries over the options that decorators below this one have collected
    @functools.wraps(function)
    def gather(**kwargs: Any) -> Any:
        access = ClusterAccess(
            kubeconfig=kwargs.pop("kubeconfig") or "",
            context=kwargs.pop("context") or "",
            snapshots=tuple(kwargs.pop("snapshot")),
        )
        return function(access=access, **kwargs)

    command: Any = gather
    for option in (
        click.option(
            "--snapshot",
            multiple=True,
            metavar="FILE",
            help="Work on this snapshot file, or on plain Kubernetes objects, instead of a "
            "cluster; may be given several times; - is standard input.",
        ),
        click.option("--context", metavar="NAME", help="The kubeconfig context to use."),
        click.option("--kubeconfig", metavar="FILE", help="The kubeconfig file to use."),
    ):
        command = option(command)
    result: F = command
    return result


def namespace_options(function: F) -> F:
    """-n and -A; the command gets `namespace` ("" without -n) and `all_namespaces`."""
    both = click.option(
        "-A", "--all-namespaces", is_flag=True, help="Everything in all namespaces."
    )
    one = click.option("-n", "--namespace", default="", metavar="NAME", help="Only this namespace.")
    return one(both(function))


def now_option(function: F) -> F:
    """--now; the command gets `now` in seconds UTC, the present without it."""
    return click.option(
        "--now",
        metavar="TIME",
        callback=lambda _context, _option, text: _instant(text),
        help="Take this for the present, such as 2026-12-06T21:00:00Z.",
    )(function)


def output_option(formats: Iterable[str], default: str) -> Callable[[F], F]:
    """-o with these formats; the command gets `output`."""
    return click.option(
        "-o",
        "--output",
        type=click.Choice(list(formats)),
        default=default,
        show_default=True,
        help="The form of the output.",
    )


def load_snapshot(access: ClusterAccess, *, now: int) -> ClusterSnapshot:
    """The snapshot of the files given, else of the cluster.

    What was not taken from the files is said on stderr. Raises UsageError, SnapshotError (file
    unreadable or torn) and ClusterError.
    """
    if not access.snapshots:
        return open_cluster(access).snapshot()
    from gitbot.snapshot import read_files  # noqa: PLC0415 - msgspec and yaml only where used

    if access.snapshots.count("-") > 1:
        raise UsageError("--snapshot -: standard input can be read once, found it given twice")
    texts = [(STDIN if name == "-" else name, read_file(name)) for name in access.snapshots]
    reading = read_files(texts, now, cluster=access.name or "cluster")
    for warning in reading.warnings:
        say(f"warning: {warning}", err=True)
    if reading.passed_over:
        counts = ", ".join(f"{count} {kind}" for kind, count in reading.passed_over.items())
        say(f"passed over, as placement does not read them: {counts}", err=True)
    return reading.snapshot


def open_cluster(access: ClusterAccess) -> Cluster:
    """The cluster itself. Raises ClusterError where the kubeconfig does not lead to one."""
    from gitbot.adapters.kubernetes.cluster import (  # noqa: PLC0415 - the client is heavy
        KubernetesCluster,
    )

    try:
        return KubernetesCluster(
            context=access.context, kubeconfig=access.kubeconfig, name=access.name
        )
    except ClusterError as error:  # every command that comes here takes files as well
        hint = f"{error.hint}{', or ' if error.hint else ''}{_WITHOUT}"
        raise ClusterError(error.message, hint=hint) from error


def read_file(name: str) -> bytes:
    """A file's bytes, standard input for "-". SnapshotError where it cannot be read."""
    if not name:
        raise UsageError("found an empty file name", hint="give the name of a file, or -")
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise SnapshotError(f"{name}: {error.strerror}") from error


def _instant(text: str | None) -> int:
    if text is None:
        return SystemClock().now()
    try:
        now = parse_instant(text)
    except ValueError as error:
        raise click.BadParameter(
            f"found {text!r}, expected a time such as 2026-12-06T21:00:00Z"
        ) from error
    if not _EARLIEST <= now < _LATEST:
        raise click.BadParameter(f"found {text!r}, expected a time of the years 2000 to 2199")
    return now
