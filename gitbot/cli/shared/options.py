"""Options that several commands share, with kubectl's names, and what they open."""

from __future__ import annotations

import functools
import gc
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from gitbot.cli.shared.session import kubeconfig_options, say
from gitbot.errors import ClusterError, SnapshotError, UsageError
from gitbot.model.progress import NO_PROGRESS, PlanningProgress
from gitbot.model.text.instants import format_instant, parse_instant
from gitbot.wiring import SystemClock

if TYPE_CHECKING:
    from gitbot.cli.shared.support_bundle import SupportBundle
    from gitbot.kubernetes.selectors import LabelMatcher
    from gitbot.model.cluster.cluster import ClusterSnapshot
    from gitbot.ports.cluster import Cluster
    from gitbot.settings import LoadSettings

_EARLIEST, _LATEST = 946_684_800, 7_258_118_400  # the years that schedules may name, in UTC
STDIN = "standard input"
LISTED = ("table", "wide", "json", "yaml", "name")  # -o of every command that lists or asks
GET_TYPES = {  # of `gitbot get`, each with its other spellings
    "intents": ("intent",),
    "requests": ("request", "migrationrequests", "migrationrequest"),
    "windows": ("window", "maintenancewindows", "freezes", "freeze", "freezewindow"),
    "rules": ("rule",),
    "moves": ("move",),
    "nodes": ("node", "no"),
    "vms": ("vm", "vmi", "vmis"),
    "clusters": ("cluster",),
}
_VM_TYPE = re.compile(r"(?:vmi?|virtualmachine(?:instance)?|pod)s?|po", re.IGNORECASE)
_WITHOUT = "--snapshot FILE or --published to work without a cluster"
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccess:
    """Where the state of a cluster comes from: snapshot files, a kubeconfig, or what is published.

    `kubeconfig` and `context` are "" for kubectl's defaults. `name` is the cluster's name in the
    configuration; "" if there is none, then the context's name counts. `metrics` is a file with
    measured load, which wins over `load` of the configuration; `scheduler` is a file with the
    configuration of kube-scheduler.
    """

    kubeconfig: str = ""
    context: str = ""
    snapshots: tuple[str, ...] = ()
    name: str = ""
    published: bool = False
    metrics: str = ""
    scheduler: str = ""
    load: LoadSettings | None = None

    def of(
        self, *, name: str, context: str = "", load: LoadSettings | None = None
    ) -> ClusterAccess:
        """The same for a cluster of the configuration; an option given by hand wins."""
        return replace(self, name=name, context=self.context or context, load=load)


def cluster_options(function: F) -> F:
    # wraps also carries over the options that decorators below this one have collected
    @kubeconfig_options
    @click.option(
        "--snapshot",
        multiple=True,
        metavar="FILE",
        help="Work on this snapshot file, or on plain Kubernetes objects, instead of a "
        "cluster; may be given several times; - is standard input.",
    )
    @click.option(
        "--published",
        is_flag=True,
        help="Work on the snapshot that reconcile published on its branch, without any access "
        "to the cluster.",
    )
    @click.option(
        "--metrics",
        metavar="FILE",
        help="Measured load of the nodes (JSON): ClusterLoad, NodeMetrics, or load-watcher's.",
    )
    @click.option(
        "--scheduler-config",
        metavar="FILE",
        help="The cluster's KubeSchedulerConfiguration, or a ConfigMap that holds it.",
    )
    @functools.wraps(function)
    def gather(**kwargs: Any) -> Any:
        access = ClusterAccess(
            kubeconfig=kwargs.pop("kubeconfig") or "",
            context=kwargs.pop("context") or "",
            snapshots=tuple(kwargs.pop("snapshot")),
            published=kwargs.pop("published"),
            metrics=kwargs.pop("metrics") or "",
            scheduler=kwargs.pop("scheduler_config") or "",
        )
        if access.published and access.snapshots:
            raise click.UsageError("give --published or --snapshot, not both")
        return function(access=access, **kwargs)

    return cast("F", gather)


def scope_options(function: F) -> F:
    """-n, -A and -l; the command gets `scope`."""

    @click.option("-n", "--namespace", default="", metavar="NAME", help="Only this namespace.")
    @click.option(
        "-A", "--all-namespaces", is_flag=True, help="Everything in all namespaces (the default)."
    )
    @click.option(
        "-l",
        "--selector",
        "labels",
        metavar="SELECTOR",
        help="Only what has these labels: key=value, key!=value, key, !key, key in (a,b).",
    )
    @functools.wraps(function)
    def gather(**kwargs: Any) -> Any:
        from gitbot.kubernetes.selectors import Scope  # noqa: PLC0415 - keeps --help quick

        namespace, everywhere = kwargs.pop("namespace"), kwargs.pop("all_namespaces")
        labels = kwargs.pop("labels")
        scope = Scope(
            namespace="" if everywhere else namespace,
            labels=None if labels is None else read_selector(labels),
        )
        return function(scope=scope, **kwargs)

    return cast("F", gather)


def read_selector(text: str) -> LabelMatcher:
    """A label selector as kubectl reads it. Raises BadParameter."""
    from gitbot.kubernetes.selectors import parse_selector  # noqa: PLC0415 - keeps --help quick

    try:
        return parse_selector(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def selector_fields(text: str) -> tuple[dict[str, Any], str]:
    """A selector as kubectl writes it, as a file has it, and its first label value ("" if none)."""
    pairs: dict[str, str] = {}
    expressions: list[dict[str, Any]] = []
    for item in read_selector(text).requirements:
        if item.operator == "In" and len(item.values) == 1 and item.key not in pairs:
            pairs[item.key] = item.values[0]
        else:
            values = {"values": list(item.values)} if item.values else {}
            expressions.append({"key": item.key, "operator": item.operator, **values})
    selector = {"matchLabels": pairs, "matchExpressions": expressions}
    return {key: value for key, value in selector.items() if value}, next(iter(pairs.values()), "")


def now_option(function: F) -> F:
    return click.option(
        "--now",
        metavar="TIME",
        callback=lambda _context, _option, text: _instant(text),
        help="Use this as the present time, such as 2026-12-06T21:00:00Z.",
    )(function)


def at_option(function: F) -> F:
    """--at; the command gets `at` as `judged_at` reads it, "" for now."""
    return click.option(
        "--at",
        metavar="TIME",
        default="",
        callback=_checked_at,
        help="Judge what would be done at this time (22:00, tomorrow 6am, 2026-12-06T21:00:00Z), "
        "with the cluster as it is now.",
    )(function)


def _checked_at(_context: click.Context, _option: click.Parameter, text: str) -> str:
    if text:
        read_time("--at", text, "UTC", now=SystemClock().now())
    return text


def judged_at(text: str, zone: str | None, *, now: int, human: bool) -> int:
    """The instant to judge, 0 for now; says which it is. Zones as `read_time`'s."""
    if not text:
        return 0
    from gitbot.calendar import time_in_full  # noqa: PLC0415 - keeps --help quick

    at = read_time("--at", text, zone or "UTC", now=now)
    full = time_in_full(at, zone or "UTC", now=now)
    say(f"judged for {full}, with the cluster of now", err=not human)
    return at


def vm_words(_: click.Context, __: click.Parameter, words: tuple[str, ...]) -> tuple[str, ...]:
    """`vm db-1 db-2`, as kubectl takes it, as `vm/db-1 vm/db-2`."""
    if len(words) > 1 and _VM_TYPE.fullmatch(words[0]):
        return tuple(f"{words[0]}/{name}" for name in words[1:])
    return words


def read_time(option: str, text: str, zone: str, *, now: int, day_begins: bool = False) -> int:
    """Seconds UTC of an option's time, as people type it. Raises UsageError that names it.

    With `day_begins`, a day alone such as 2026-12-06 is the midnight at which it begins.
    """
    from gitbot.calendar import day_start, local_date, spoken_time  # noqa: PLC0415 - as above
    from gitbot.model.plan.findings import Refusal  # noqa: PLC0415

    alone = day_begins and len(text) == len("2026-12-06") and text[:1].isdigit()
    try:
        seconds = day_start(local_date(text), zone) if alone else spoken_time(text, zone, now=now)
        if not _EARLIEST <= seconds < _LATEST:
            raise Refusal("time", "a time of the years 2000 to 2199", "correct the year")
    except Refusal as refusal:
        named = "--time-zone" if refusal.code == "time-zone" else option
        found = zone if refusal.code == "time-zone" else text
        raise UsageError(
            f"{named}: found {found!r}, expected {refusal.expected}", hint=refusal.hint
        ) from refusal
    return seconds


def time_ahead(option: str, text: str, zone: str, *, now: int, begins: bool = False) -> int:
    """As `read_time`; says what was understood.

    Raises UsageError for a time that is past. What `begins` may be past, and a day alone.
    """
    from gitbot.calendar import time_in_full  # noqa: PLC0415 - keeps --help quick

    seconds = read_time(option, text, zone, now=now, day_begins=begins)
    full = time_in_full(seconds, zone, now=now)
    if seconds <= now and not begins:
        raise UsageError(
            f"{option}: found {text!r}, which is past: {full}",
            hint="give a later one, such as: in 10m",
        )
    say(f"{option} {text}: {full}", err=True)
    return seconds


def as_duration(_: click.Context, option: click.Parameter, text: str | None) -> str | None:
    """The callback of an option: a duration as fields have it, from PT4H, 1d, 4h or 1h30m."""
    if text is None:
        return None
    from gitbot.calendar import duration_text, spoken_duration  # noqa: PLC0415 - keeps --help quick
    from gitbot.model.plan.findings import Refusal  # noqa: PLC0415

    try:
        return duration_text(spoken_duration(text))
    except Refusal as refusal:
        expected = f"found {text!r}, expected {refusal.expected}"
        raise UsageError(f"{option.opts[0]}: {expected}", hint="write 4h, or PT4H") from refusal


class OutputChoice(click.Choice[str]):
    """The forms of `-o`. Those of `reports.REPORTS` are looked up only if they are needed."""

    def __init__(self, listed: Iterable[str], shows: str = "") -> None:
        self._listed, self._shows = tuple(listed), shows
        super().__init__(self._listed)

    @property
    def choices(self) -> tuple[str, ...]:
        if not self._shows:
            return self._listed
        from gitbot.reports import Shows, formats_of  # noqa: PLC0415 - keeps --help quick

        return (*self._listed, *formats_of(Shows(self._shows)))

    @choices.setter
    def choices(self, _: tuple[str, ...]) -> None:
        """Click sets the names that it got; they are `_listed`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value) if value in self._listed else super().convert(value, param, ctx)


def output_option(formats: Iterable[str], default: str, *, shows: str = "") -> Callable[[F], F]:
    """-o with these forms, and with those of `reports.REPORTS` that show `shows`."""
    return click.option(
        "-o",
        "--output",
        type=OutputChoice(formats, shows),
        default=default,
        show_default=True,
        help="The format of the output.",
    )


def fail_on_option(function: F) -> F:
    return click.option(
        "--fail-on",
        type=click.Choice(("error", "warning")),
        default="error",
        show_default=True,
        help="What gives exit code 1.",
    )(function)


def load_snapshot(
    access: ClusterAccess, *, now: int, onlooker: PlanningProgress = NO_PROGRESS
) -> ClusterSnapshot:
    """The snapshot of the given files, else of the cluster.

    Reports on stderr what it did not take from the files. Raises UsageError, SnapshotError (file
    unreadable or damaged) and ClusterError.
    """
    snapshot = _load_state(access, now=now, onlooker=onlooker)
    if access.scheduler:
        from gitbot.constraints.scheduler.profiles import (  # noqa: PLC0415 - numpy where used
            read_profiles,
        )

        profiles = read_profiles(access.scheduler, read_file(access.scheduler))
        snapshot = snapshot.with_profiles(profiles)
    if access.metrics:
        from gitbot.snapshot import read_load  # noqa: PLC0415 - msgspec only where used

        data = read_file(access.metrics)
        return snapshot.with_load(read_load(access.metrics, data, snapshot.of("Node")))
    return snapshot


def _load_state(access: ClusterAccess, *, now: int, onlooker: PlanningProgress) -> ClusterSnapshot:
    onlooker.begins("reading the cluster")
    if access.published:
        from gitbot.cli.shared.published_state import published_here  # noqa: PLC0415 - Git

        return published_here(access.name, now=now)
    if not access.snapshots:
        return _open_cluster(access).snapshot()
    from gitbot.snapshot import MAX_BYTES, read_files  # noqa: PLC0415 - msgspec only where used

    if access.snapshots.count("-") > 1:
        raise UsageError("--snapshot -: standard input can be read once, found it given twice")
    texts: list[tuple[str, bytes]] = []
    bundled: set[str] = set()
    for name in access.snapshots:
        bundle = _bundle(name, texts, MAX_BYTES)
        if bundle is not None:
            texts += bundle.files
            bundled.update(file for file, _ in bundle.files)
            say(
                f"{name}: {len(bundle.files)} files of YAML and JSON, {bundle.others} others",
                err=True,
            )
    with without_gc():
        reading = read_files(texts, now, cluster=access.name or "cluster", bundled=bundled)
    onlooker.begins("")
    if bundled and reading.snapshot.missing_kinds:
        listed = ", ".join(reading.snapshot.missing_kinds)
        say(f"not in it, so what depends on them is not known: {listed}", err=True)
    for warning in reading.warnings:
        say(f"warning: {warning}", err=True)
    if reading.passed_over:
        counts = ", ".join(f"{count} {kind}" for kind, count in reading.passed_over.items())
        say(f"passed over, as placement does not read them: {counts}", err=True)
    return reading.snapshot


def _bundle(name: str, texts: list[tuple[str, bytes]], most: int) -> SupportBundle | None:
    """The folder or archive of this name; any other file is added to `texts`."""
    from gitbot.cli.shared.support_bundle import (  # noqa: PLC0415 - keeps --help quick
        read_archive,
        read_folder,
    )

    if name and name != "-" and Path(name).is_dir():
        return read_folder(name, most)
    shown, data = STDIN if name == "-" else name, read_file(name)
    bundle = read_archive(shown, data, most)
    if bundle is None:
        texts.append((shown, data))
    return bundle


@contextmanager
def without_gc() -> Iterator[None]:
    """What is made here stays: the cycle collector neither runs meanwhile nor looks at it later."""
    ran = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if ran:
            gc.enable()


def _open_cluster(access: ClusterAccess) -> Cluster:
    from gitbot.wiring.clusters import open_cluster  # noqa: PLC0415 - the client is heavy

    try:
        return open_cluster(
            name=access.name,
            kubeconfig=access.kubeconfig,
            context=access.context,
            load=None if access.metrics else access.load,
        )
    except ClusterError as error:  # every command that calls this takes files as well
        error.hint = f"{error.hint}{', or ' if error.hint else ''}{_WITHOUT}"
        raise


def read_file(name: str) -> bytes:
    """A file's bytes, standard input for "-". Raises SnapshotError if it cannot be read."""
    if not name:
        raise UsageError("found an empty file name", hint="give the name of a file, or -")
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        if Path(name).is_char_device():  # such as /dev/zero, which never ends
            raise SnapshotError(f"{name}: found a device, expected a file")
        return Path(name).read_bytes()
    except OSError as error:
        raise SnapshotError(f"{name}: {error.strerror}") from error


def read_instant(text: str) -> int:
    """Seconds UTC of an option's value. Raises BadParameter if it is not a time."""
    try:
        return parse_instant(text)
    except ValueError as error:
        raise click.BadParameter(
            f"found {text!r}, expected a time such as 2026-12-06T21:00:00Z"
        ) from error


def read_past(option: str, text: str, zone: str, *, now: int) -> int:
    """Seconds UTC of an option's time that is over; says what was understood.

    Raises UsageError that names the option.
    """
    from gitbot.calendar import spoken_past, time_in_full  # noqa: PLC0415 - keeps --help quick
    from gitbot.model.plan.findings import Refusal  # noqa: PLC0415

    try:
        seconds = spoken_past(text, zone, now=now)
    except Refusal as refusal:
        raise UsageError(
            f"{option}: found {text!r}, expected {refusal.expected}", hint=refusal.hint
        ) from refusal
    if text != format_instant(seconds):  # that says all of it already
        say(f"{option} {text}: {time_in_full(seconds, zone, now=now)}", err=True)
    return seconds


def _instant(text: str | None) -> int:
    if text is None:
        return SystemClock().now()
    now = read_instant(text)
    if not _EARLIEST <= now < _LATEST:
        raise click.BadParameter(f"found {text!r}, expected a time of the years 2000 to 2199")
    return now
