"""What plan, check and render share: where texts come from, what is planned on, how it is shown."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from gitbot.adapters.files import (
    CONFIGURATION_FILE,
    ShippedTexts,
    find_root,
    read_plain_file,
    read_working_tree,
)
from gitbot.cli.options import ClusterAccess, cluster_options, load_snapshot, now_option
from gitbot.errors import RepositoryError, SnapshotError, UsageError

if TYPE_CHECKING:
    from gitbot.intents.compile import Past
    from gitbot.model.cluster import ClusterSnapshot
    from gitbot.ports.repository import Repository
    from gitbot.settings import Settings
    from gitbot.workflows.check import CheckResult, Engine, Sources

F = TypeVar("F", bound=Callable[..., Any])
FORMATS = ("table", "wide", "json", "yaml", "markdown", "sarif", "junit", "github", "html")
LEDGER_BRANCHES = ("gitbot/ledger", "origin/gitbot/ledger")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked on the command line. Revisions are "" where none was given.

    `now` is the present where --now was not given; `told_now` says whether it was.
    """

    access: ClusterAccess
    now: int
    told_now: bool = False
    cluster: str = ""
    rev: str = ""
    base: str = ""
    published: bool = False


def asking_options(function: F) -> F:
    """--cluster, --rev, --base, --now and how to reach the cluster; the command gets `asked`."""

    @functools.wraps(function)
    def gather(**kwargs: Any) -> Any:
        asked = Asked(
            access=kwargs.pop("access"),
            now=kwargs.pop("now"),
            told_now=_is_told("now"),
            cluster=kwargs.pop("cluster") or "",
            rev=kwargs.pop("rev") or "",
            base=kwargs.pop("base") or "",
            published=kwargs.pop("published"),
        )
        if asked.published and asked.access.snapshots:
            raise click.UsageError("give --published or --snapshot, not both")
        return function(asked=asked, **kwargs)

    wrapped: Any = now_option(cluster_options(gather))
    for option in (
        click.option(
            "--base",
            metavar="REV",
            help="Check what merging into this branch or commit would add; configuration and "
            "policies are read there.",
        ),
        click.option(
            "--published",
            is_flag=True,
            help="Plan on the snapshot that reconcile published on its branch, without any access "
            "to the cluster.",
        ),
        click.option("--rev", metavar="REV", help="Read this revision, not the working tree."),
        click.option("--cluster", metavar="NAME", help="Which cluster of the configuration."),
    ):
        wrapped = option(wrapped)
    result: F = wrapped
    return result


def fail_on_option(function: F) -> F:
    """--fail-on; the command gets `fail_on`."""
    return click.option(
        "--fail-on",
        type=click.Choice(("error", "warning")),
        default="error",
        show_default=True,
        help="What gives exit code 1.",
    )(function)


def _is_told(option: str) -> bool:
    """Whether the option stands on the command line."""
    source = click.get_current_context().get_parameter_source(option)
    return source is not ParameterSource.DEFAULT


def run_check(asked: Asked) -> CheckResult:
    """Read the texts and the cluster, and check. Findings about texts need no cluster."""
    from gitbot.settings import read_settings  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.check import CheckResult, Evidence, check  # noqa: PLC0415

    root = find_root(Path.cwd())
    repository = _repository(root) if asked.rev or asked.base else None
    sources, base = _sources(root, repository, asked)
    settings, findings = read_settings((base or sources).configuration, CONFIGURATION_FILE)
    if settings is None:
        return CheckResult(findings=findings, cluster=asked.cluster)
    cluster = pick_cluster(settings, asked.cluster)
    configured = settings.cluster(cluster)
    context = configured.context if configured else ""
    broken = _broken(cluster, sources, settings)
    if broken is not None:
        return broken
    if asked.published:
        snapshot = published_snapshot(repository or _repository(root), cluster, now=asked.now)
    else:
        snapshot = load_snapshot(asked.access.of(name=cluster, context=context), now=asked.now)
    evidence = Evidence(snapshot=snapshot, now=asked.now, past=_past(root, cluster))
    changed = _changed(repository, sources, base, settings) if base and repository else ()
    return check(
        cluster=cluster,
        sources=sources,
        evidence=evidence,
        engine=engine(),
        base=base,
        changed=changed,
    )


def published_snapshot(repository: Repository, cluster: str, *, now: int) -> ClusterSnapshot:
    """The newest snapshot on the cluster's branch. SnapshotError where there is none."""
    from gitbot.snapshot import read_snapshot  # noqa: PLC0415 - msgspec only where used
    from gitbot.workflows.reconcile import SNAPSHOT_FILE, snapshot_branch  # noqa: PLC0415

    branch = snapshot_branch(cluster)
    heads = (repository.resolve(name) for name in (branch, f"origin/{branch}"))
    head = next((found for found in heads if found), None)
    data = repository.read_blob(head, SNAPSHOT_FILE) if head else None
    if data is None:
        raise SnapshotError(
            f"no snapshot of {cluster} is published on branch {branch}",
            hint="git fetch; `gitbot reconcile` publishes it, with publishSnapshot: true",
        )
    return read_snapshot([(f"{branch}:{SNAPSHOT_FILE}", data)], now, cluster=cluster)


def engine() -> Engine:
    """What ships with gitbot."""
    from gitbot.constraints.replay import replay  # noqa: PLC0415 - numpy only where used
    from gitbot.workflows.check import Engine  # noqa: PLC0415

    shipped = ShippedTexts()
    policies = {f"gitbot:{path}": text for path, text in shipped.policies().items()}
    return Engine(policies=policies, templates=shipped.templates(), replay=replay)


def pick_cluster(settings: Settings, name: str) -> str:
    """The cluster of that name, or the only one. UsageError names the choice."""
    names = [cluster.name for cluster in settings.clusters]
    if not name and len(names) == 1:
        return names[0]
    if name in names:
        return name
    found = f"there is no cluster {name}" if name else "the configuration has several clusters"
    raise UsageError(found, hint=f"--cluster is one of {', '.join(names)}")


def colour() -> bool:
    """Colour only on a terminal, and never with NO_COLOR."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _broken(cluster: str, sources: Sources, settings: Settings) -> CheckResult | None:
    """The result for texts with errors, for which no cluster is asked."""
    from gitbot.intents import read_intents  # noqa: PLC0415
    from gitbot.model.findings import has_errors  # noqa: PLC0415
    from gitbot.workflows.check import CheckResult  # noqa: PLC0415

    prefix = f"intents/{cluster}/"
    files = {path: data for path, data in sources.intents.items() if path.startswith(prefix)}
    _, findings = read_intents(files, settings, cluster)
    if not has_errors(findings):
        return None
    return CheckResult(findings=findings, settings=settings, cluster=cluster)


def _repository(root: Path) -> Repository:
    from gitbot.adapters.git.repository import GitRepository  # noqa: PLC0415

    return GitRepository(root, remote=str(root), name="", email="")


def _sources(
    root: Path, repository: Repository | None, asked: Asked
) -> tuple[Sources, Sources | None]:
    """What is checked, and the base. With both revisions: the result of merging them."""
    if repository is None:
        return _working_tree(root), None
    base = _commit(repository, asked.base) if asked.base else ""
    if not asked.rev:
        return _working_tree(root), _at(repository, base, commit=base)
    head = _commit(repository, asked.rev)
    if not base:
        return _at(repository, head, commit=head), None
    merged = repository.merge_trees(base, head)
    if merged is None:
        raise RepositoryError(
            f"{asked.rev} does not merge into {asked.base} without conflicts",
            hint="merge or rebase it first",
        )
    return _at(repository, merged, commit=head), _at(repository, base, commit=base)


def _working_tree(root: Path) -> Sources:
    from gitbot.workflows.check import Sources  # noqa: PLC0415

    return Sources(
        configuration=read_plain_file(root / CONFIGURATION_FILE, CONFIGURATION_FILE),
        intents=read_working_tree(root, "intents"),
        policies=_texts(read_working_tree(root, "policies")),
    )


def _at(repository: Repository, tree: str, *, commit: str) -> Sources:
    from gitbot.workflows.check import Sources  # noqa: PLC0415

    configuration = repository.read_blob(tree, CONFIGURATION_FILE)
    if configuration is None:
        raise UsageError(f"{commit[:12]} has no {CONFIGURATION_FILE}")
    return Sources(
        configuration=configuration,
        intents=repository.read_tree(tree, "intents"),
        policies=_texts(repository.read_tree(tree, "policies")),
        commit=commit,
    )


def _commit(repository: Repository, rev: str) -> str:
    commit = repository.resolve(rev)
    if commit is None:
        raise UsageError(f"there is no revision {rev}", hint="git fetch, or see git branch -a")
    return commit


def _texts(files: Mapping[str, bytes]) -> dict[str, str]:
    return {
        path: data.decode("utf-8", "replace")
        for path, data in files.items()
        if path.endswith(".yaml")
    }


def _past(root: Path, cluster: str) -> Past:
    """What the ledger in this clone knows; nothing where there is none."""
    from gitbot.intents.compile import NO_PAST  # noqa: PLC0415
    from gitbot.model.ledger import Ledger  # noqa: PLC0415
    from gitbot.model.ledger_json import read_files  # noqa: PLC0415
    from gitbot.workflows.past import past_of  # noqa: PLC0415

    if not (root / ".git").exists():
        return NO_PAST
    repository = _repository(root)
    heads = (repository.resolve(branch) for branch in LEDGER_BRANCHES)
    head = next((found for found in heads if found), None)
    if head is None:
        return NO_PAST
    files = repository.read_tree(head)
    plans = {
        path.removeprefix("plans/").removesuffix(".json"): data
        for path, data in files.items()
        if path.startswith("plans/")
    }
    return past_of(Ledger(entries=read_files(files), plans=plans, head=head), cluster)


def _changed(
    repository: Repository, sources: Sources, base: Sources, settings: Settings
) -> tuple[str, ...]:
    """Paths of intents and VM manifests in this repository that differ from the base."""
    paths = set(_differing(base.intents, sources.intents))
    folders = [item.path for item in settings.manifests if item.repository is None]
    if sources.commit:
        for folder in folders:
            before = repository.read_tree(base.commit, folder)
            after = repository.read_tree(sources.commit, folder)
            paths |= set(_differing(before, after))
    return tuple(sorted(paths))


def _differing(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    return (path for path in {**before, **after} if before.get(path) != after.get(path))
