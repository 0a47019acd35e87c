"""What plan, check and render share: which texts to read, what to plan on, how to show it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from gitbot.cli.shared.options import (
    ClusterAccess,
    at_option,
    cluster_options,
    judged_at,
    load_snapshot,
    now_option,
    scope_options,
)
from gitbot.cli.shared.session import age_of, pick_cluster, say
from gitbot.cli.shared.standstill_line import say_standstill_here
from gitbot.errors import RepositoryError, SnapshotError, UsageError
from gitbot.model.progress import NO_PROGRESS, PlanningProgress
from gitbot.model.text.names import CONFIGURATION_FILE, LIMIT_HARD_ANTI_AFFINITY
from gitbot.model.text.wording import nearest
from gitbot.wiring import StderrProgress, find_root, read_plain_file, read_working_tree

if TYPE_CHECKING:
    from gitbot.kubernetes.selectors import Scope
    from gitbot.model.cluster.cluster import ClusterSnapshot
    from gitbot.model.ledger.ledger import Ledger
    from gitbot.model.plan.findings import Finding
    from gitbot.ports.repository import Repository
    from gitbot.settings import Settings
    from gitbot.wiring.forge_reads import ForgeTips
    from gitbot.workflows.check import CheckResult
    from gitbot.workflows.core.revision import Revision, Texts
    from gitbot.workflows.core.rights import Missing

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """The command line's answers. Revisions are "" if none was given.

    `now` is the present unless --now was given; `told_now` says whether it was.
    """

    access: ClusterAccess
    now: int
    told_now: bool = False
    cluster: str = ""
    rev: str = ""
    base: str = ""
    assume_plugins: tuple[str, ...] = ()
    at: str = ""  # the instant to judge, "" for now
    scope: Scope | None = None  # what is shown of the plan

    @property
    def published(self) -> bool:
        return self.access.published

    @property
    def is_live(self) -> bool:
        """Whether the cluster is read as it is now."""
        return not (self.published or self.access.snapshots or self.told_now)


def asking_options(function: F) -> F:
    @click.option("--cluster", metavar="NAME", help="Which cluster of the configuration.")
    @click.option("--rev", metavar="REV", help="Read this revision, not the working tree.")
    @click.option(
        "--base",
        metavar="REV",
        help="Check what merging into this branch or commit would add; configuration and "
        "policies are read there.",
    )
    @click.option(
        "--assume-plugin",
        "plugins",
        type=click.Choice([LIMIT_HARD_ANTI_AFFINITY]),
        multiple=True,
        help="An admission plugin that the cluster runs; the API server does not name it.",
    )
    @at_option
    @now_option
    @cluster_options
    @scope_options
    @functools.wraps(function)
    def gather(**kwargs: Any) -> Any:
        source = click.get_current_context().get_parameter_source("now")
        asked = PlanOptions(
            access=kwargs.pop("access"),
            now=kwargs.pop("now"),
            told_now=source is not ParameterSource.DEFAULT,
            cluster=kwargs.pop("cluster") or "",
            rev=kwargs.pop("rev") or "",
            base=kwargs.pop("base") or "",
            assume_plugins=kwargs.pop("plugins"),
            at=kwargs.pop("at"),
            scope=kwargs.pop("scope"),
        )
        return function(asked=asked, **kwargs)

    return cast("F", gather)


def against_base(asked: PlanOptions) -> PlanOptions:
    """What merging would add: into the base branch, unless --base says into what."""
    if asked.base:
        return asked
    from gitbot.wiring.workspace import repository_here, settings_here  # noqa: PLC0415 - Git only here

    root = find_root(Path.cwd())
    name = settings_here(root).forge.base_branch
    remote = f"origin/{name}"
    known = repository_here(root).resolve(remote) is not None
    return replace(asked, base=remote if known else name)


def run_check(
    asked: PlanOptions, *, stoppable: bool = False, human: bool = False, to_act: bool = False
) -> CheckResult:
    """Read the texts and the cluster, and check. Errors in texts are found without a cluster.

    Stoppable: the first signal to end, while it plans, ends with the best plan so far. `human`: the
    output is a table, and may begin with how old the ledger is. `to_act`: the plan is one to carry
    out, so it also says what keeps everything from starting.
    """
    progress = StderrProgress(sys.stderr)
    with progress.shown():
        return _read_and_check(asked, progress, stoppable=stoppable, human=human, to_act=to_act)


def _read_and_check(
    asked: PlanOptions, progress: StderrProgress, *, stoppable: bool, human: bool, to_act: bool
) -> CheckResult:
    from gitbot.intents import stops  # noqa: PLC0415 - keeps --help quick
    from gitbot.wiring.plan_worker import check_apart, read_apart  # noqa: PLC0415
    from gitbot.wiring.workspace import repository_here  # noqa: PLC0415
    from gitbot.workflows.check import CheckResult, PlanningInputs, check, invalid_texts_result  # noqa: PLC0415
    from gitbot.workflows.core.rights import rights_checked  # noqa: PLC0415
    from gitbot.workflows.ledger.request_history import request_history  # noqa: PLC0415

    progress.begins("reading the repository")
    root = find_root(Path.cwd())
    repository = repository_here(root) if asked.rev or asked.base else None
    texts, before = _texts(root, repository, asked)
    trusted = _trusted(repository, before or texts, asked)
    if isinstance(trusted, tuple):
        return CheckResult(findings=trusted, cluster=asked.cluster)
    revision = trusted if before is None else read_apart(texts, trusted)
    if any(map(stops, revision.findings)):
        return invalid_texts_result(revision)
    tips = ask_tips(
        root, now=asked.now, base=asked.base, rev=asked.rev, human=human, onlooker=progress
    )
    at = judged_at(asked.at, revision.zone, now=asked.now, human=human)
    snapshot, missing = _cluster(asked, root, repository, revision, progress)
    if to_act and asked.is_live:
        say_standstill_here(asked.access, root, revision.settings, tips, snapshot, human=human)
    evidence = PlanningInputs(
        snapshot=snapshot,
        now=at or asked.now,
        clock=asked.now,
        past=request_history(tips.ledger, revision.cluster),
        assume_plugins=asked.assume_plugins,
    )
    ending = progress.stoppable() if stoppable else nullcontext()
    with ending:
        if before is None or repository is None:
            result = check(revision, evidence, onlooker=progress)
        else:
            changed = _changed(root, repository, revision.settings, texts, before)
            judge = functools.partial(
                check, revision, evidence, before=trusted.intents, changed=changed
            )
            result = check_apart(judge, progress)
    return result if missing is None else rights_checked(result, missing, own=asked.published)


def _changed(
    root: Path, repository: Repository, settings: Settings, texts: Texts, before: Texts
) -> set[str]:
    """Paths of intents and of manifests that differ from the base's."""
    from gitbot.workflows.core.revision import Texts  # noqa: PLC0415

    changed = set(texts.changed_since(before))
    for folder in settings.manifest_folders:
        old = Texts(files=repository.read_tree(before.commit, folder))
        tree = texts.commit
        files = repository.read_tree(tree, folder) if tree else _manifests(root, folder)
        changed |= set(Texts(files=files).changed_since(old))
    return changed


def _manifests(root: Path, folder: str) -> dict[str, bytes]:
    """The manifests of the working tree, those included that are not committed."""
    from gitbot.cli.shared.lint_files import read_tree  # noqa: PLC0415 - with --base only

    contents = read_tree(root, (folder,)).contents
    return {path: data for path, data in contents.items() if path != CONFIGURATION_FILE}


def _cluster(
    asked: PlanOptions,
    root: Path,
    repository: Repository | None,
    revision: Revision,
    onlooker: PlanningProgress,
) -> tuple[ClusterSnapshot, Missing | None]:
    """The snapshot, and whom to ask about rights: files know nothing of them."""
    from gitbot.wiring.workspace import cluster_questions, repository_here  # noqa: PLC0415

    cluster = revision.cluster
    if asked.published:
        from gitbot.cli.shared.published_state import newest_published  # noqa: PLC0415 - Git

        return newest_published(root, repository or repository_here(root), cluster, now=asked.now)
    configured = revision.settings.cluster(cluster)
    context = configured.context if configured else ""
    load = configured.load if configured else None
    access = asked.access.of(name=cluster, context=context, load=load)
    snapshot = revision.scheduled(load_snapshot(access, now=asked.now, onlooker=onlooker))
    onlooker.begins("")  # whole lines may follow
    if not asked.cluster:
        same_cluster(snapshot, cluster, context)
    if access.snapshots:
        return snapshot, None
    settings, kubeconfig = revision.settings, access.kubeconfig

    def missing(group: str, namespace: str) -> tuple[str, ...]:
        ask = cluster_questions(settings, cluster, kubeconfig=kubeconfig, context=access.context)
        return ask.missing(group, namespace)

    return snapshot, missing


def same_cluster(snapshot: ClusterSnapshot, *names: str) -> None:
    """Raises SnapshotError if a snapshot is of another cluster than the one with these names."""
    if snapshot.cluster not in names:
        raise SnapshotError(
            f"the snapshot is of cluster {snapshot.cluster}, the intents are those of {names[0]}",
            hint=f"give --cluster {names[0]} to use it anyway",
        )


def _texts(
    root: Path, repository: Repository | None, asked: PlanOptions
) -> tuple[Texts, Texts | None]:
    """What is checked, and the base. With both revisions: the result of merging them."""
    if repository is None:
        return working_tree(root), None
    base = _commit(repository, asked.base) if asked.base else ""
    before = _at(repository, base, commit=base) if base else None
    if not asked.rev:
        return working_tree(root), before
    head = _commit(repository, asked.rev)
    tree = repository.merge_trees(base, head) if base else head
    if tree is None:
        raise RepositoryError(
            f"{asked.rev} does not merge into {asked.base} without conflicts",
            hint="merge or rebase it first",
        )
    return _at(repository, tree, commit=head), before


def texts_of(root: Path, rev: str) -> Texts:
    """A revision, or the working tree if `rev` is ""."""
    if not rev:
        return working_tree(root)
    from gitbot.wiring.workspace import repository_here  # noqa: PLC0415 - Git only where used

    repository = repository_here(root)
    commit = _commit(repository, rev)
    return _at(repository, commit, commit=commit)


def working_tree(root: Path) -> Texts:
    from gitbot.workflows.core.revision import Texts, configuration_files  # noqa: PLC0415 - keeps --help quick

    configuration = configuration_files(
        read_plain_file(root / CONFIGURATION_FILE, CONFIGURATION_FILE),
        functools.partial(read_working_tree, root),
        lambda path: read_plain_file(root / path, path) if (root / path).exists() else None,
    )
    intents, policies = read_working_tree(root, "intents"), read_working_tree(root, "policies")
    return Texts(files={**configuration, **intents, **policies})


def _trusted(
    repository: Repository | None, texts: Texts, asked: PlanOptions
) -> Revision | tuple[Finding, ...]:
    """What counts of configuration and policies; a base is read as a pass reads it."""
    if not asked.base or repository is None:
        return read_here(find_root(Path.cwd()), texts, asked.cluster)
    from gitbot.workflows.core.folder_reading import read_by_folder  # noqa: PLC0415

    return read_by_folder(repository, texts, _reading(asked.cluster))


def read_here(root: Path, texts: Texts, cluster: str) -> Revision | tuple[Finding, ...]:
    """The texts. Files whose errors are on the base branch too stop only their folders."""
    from gitbot.intents import stops  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.core.revision import Revision  # noqa: PLC0415

    reading = _reading(cluster)
    found = reading(texts)
    if not isinstance(found, Revision) or not any(map(stops, found.findings)):
        return found
    from gitbot.wiring.workspace import repository_here  # noqa: PLC0415 - Git only where used
    from gitbot.workflows.core.folder_reading import read_as_on  # noqa: PLC0415

    return read_as_on(repository_here(root), found.settings.forge.base_branch, texts, reading)


def _reading(cluster: str) -> Callable[[Texts], Revision | tuple[Finding, ...]]:
    from gitbot.wiring.workspace import shipped  # noqa: PLC0415 - keeps --help quick
    from gitbot.workflows.core.revision import read_revision  # noqa: PLC0415

    return functools.partial(
        read_revision,
        cluster=lambda settings: pick_cluster(settings, cluster),
        shipped=shipped("gitbot:"),
    )


def _at(repository: Repository, tree: str, *, commit: str) -> Texts:
    from gitbot.workflows.core.revision import texts_at  # noqa: PLC0415 - keeps --help quick

    texts = texts_at(repository, tree, commit=commit)
    if CONFIGURATION_FILE not in texts.files:
        raise UsageError(f"{commit[:12]} has no {CONFIGURATION_FILE}")
    return texts


def _commit(repository: Repository, rev: str) -> str:
    commit = repository.resolve(rev)
    if commit is None:
        from gitbot.wiring.forge_reads import revisions_here  # noqa: PLC0415 - only for an error

        near = nearest(rev, revisions_here(find_root(Path.cwd())))
        hint = f"did you mean {near}?" if near else "git fetch, or see git branch -a"
        raise UsageError(f"there is no revision {rev}", hint=hint)
    return commit


def ask_ledger(
    root: Path, *, now: int, rev: str = "", human: bool, onlooker: PlanningProgress = NO_PROGRESS
) -> Ledger:
    """The forge's ledger, as `ask_tips`."""
    return ask_tips(root, now=now, rev=rev, human=human, onlooker=onlooker).ledger


def ask_tips(
    root: Path,
    *,
    now: int,
    base: str = "",
    rev: str = "",
    human: bool,
    onlooker: PlanningProgress = NO_PROGRESS,
) -> ForgeTips:
    """The forge's ledger and base branch. The first line says if it, or what is read, may be old.

    What is read is `base`, or the folder if neither `base` nor `rev` is given. The line goes to
    standard output for people (`human`), to standard error beside a document.
    """
    from gitbot.wiring.forge_reads import ask_forge, is_behind  # noqa: PLC0415 - Git only where used

    asked = ask_forge(root)
    onlooker.begins("")  # whole lines may follow
    if asked.stale:
        say(f"{age_of(asked.ledger, now)}: {asked.stale}", err=not human)
    elif asked.absent and human:
        say(f"no ledger was read ({asked.absent}): what has run before is not known", err=True)
    elif not (base or rev) and is_behind(root, asked):
        tip = f"{asked.base_branch} of the forge ({asked.base[:12]})"
        say(
            f"this folder is behind {tip}: git pull; what follows is about the folder",
            err=not human,
        )
    elif base and base in (asked.base_branch, f"origin/{asked.base_branch}"):
        from gitbot.wiring.workspace import repository_here  # noqa: PLC0415

        here = repository_here(root).resolve(base)
        if here != asked.base:
            words = f"{base} here is at {str(here)[:12]}, on the forge at {asked.base[:12]}"
            say(f"{words}: git fetch, or pull", err=not human)
    return asked
