"""What lint says about the files of a repository: configuration, intents, policies. Pure."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from gitbot.cli.shared.vm_manifests import read_machines
from gitbot.documents import TOP, finding_at, shown
from gitbot.intents import (
    is_below,
    is_ours,
    is_read,
    misleading_labels,
    read_intents,
    without_finished,
)
from gitbot.model.plan.findings import Finding, Severity, sort_key
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.model.text.wording import nearest
from gitbot.settings import Beside, ClusterSettings, Settings, among, read_settings

if TYPE_CHECKING:
    from gitbot.policy import PolicyRunner
    from gitbot.workflows.core.own_wording import Render

MISSING = "files/missing"


def lint(
    files: Mapping[str, bytes],
    finished: Callable[[str], Collection[str]] = lambda _: (),
    shipped: Callable[[], Mapping[str, str]] = dict,
    runner: Callable[[], PolicyRunner | None] = lambda: None,
    render: Callable[[], Render | None] = lambda: None,
) -> tuple[Finding, ...]:
    """Every finding about the files of a repository, by repository path; sorted.

    Reads no clock and no cluster; `check` reports what needs one. `finished` gives the ledger ids
    of a cluster's finished requests, `shipped` the policies that ship with gitbot, by path.
    `runner` compiles those of the repository, and `render` renders its templates.
    """
    settings, findings = _settings(files)
    folders = sorted({_folder(path) for path in files if path.startswith("intents/")} - {""})
    found = [*findings, *_twins(files), *_stray(files)]
    if settings is not None:
        found += _unknown_clusters(files, folders, settings)
    folders_of = [item.path for item in settings.manifests] if settings is not None else []
    machines, unread = read_machines(files, folders_of)
    found += unread
    for cluster in _clusters(folders, settings):
        texts = {path: files[path] for path in files if is_below(path, cluster)}
        intents, about = read_intents(texts, settings or _lenient(cluster), cluster)
        found += without_finished(about, intents, functools.partial(finished, cluster))
        if settings is not None and settings.scheduler_files:
            from gitbot.workflows.core.revision import scheduler_profiles  # noqa: PLC0415 - numpy

            found += scheduler_profiles(files, settings, cluster)[1]
        if machines:
            found += misleading_labels(intents, (machine for _, machine in machines))
    found += _policies(files, settings, shipped, runner)
    found += _templates(files, render)
    return tuple(sorted(set(found), key=sort_key))


def _settings(files: Mapping[str, bytes]) -> tuple[Settings | None, tuple[Finding, ...]]:
    if CONFIGURATION_FILE in files:
        return read_settings(files[CONFIGURATION_FILE], CONFIGURATION_FILE, among(files))
    message = f"found no configuration, expected {CONFIGURATION_FILE}"
    hint = "`gitbot init` in an empty folder writes an example"
    return None, (finding_at(CONFIGURATION_FILE, TOP, MISSING, message, hint),)


def named_paths(configuration: bytes, beside: Beside) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The folders and the files that the configuration names."""
    folders: list[str] = []

    def keep(folder: str) -> Mapping[str, bytes] | None:
        folders.append(folder)
        return beside(folder)

    settings, _ = read_settings(configuration, CONFIGURATION_FILE, keep)
    if settings is None:
        return tuple(folders), ()
    return (*folders, *settings.manifest_folders), settings.scheduler_files


def _clusters(folders: list[str], settings: Settings | None) -> list[str]:
    return folders if settings is None else sorted(settings.cluster_names)


def _lenient(cluster: str) -> Settings:
    """Substitute for a wrong configuration: settings that add no findings about intents."""
    return Settings.model_construct(
        clusters=(ClusterSettings.model_construct(name=cluster, time_zone="UTC"),), allow_auto=True
    )


def _ours(path: str) -> bool:
    return path.startswith(("intents/", "policies/"))


def _wanted(path: str, prefix: str) -> bool:
    return path.startswith(prefix) and is_read(path)


def _folder(path: str) -> str:
    steps = path.split("/")
    return steps[1] if len(steps) > 2 else ""


def _stray(files: Mapping[str, bytes]) -> Iterable[Finding]:
    for path in files:
        steps = path.split("/")
        if steps[0] == "intents" and len(steps) == 2 and is_ours(path):
            yield finding_at(
                path,
                TOP,
                "intents/place",
                "found an intent file in no cluster's folder, expected intents/<cluster>/",
                "move it into the folder of its cluster",
            )


def _unknown_clusters(
    files: Mapping[str, bytes], folders: list[str], settings: Settings
) -> Iterable[Finding]:
    names = settings.cluster_names
    for folder in folders:
        prefix = f"intents/{folder}/"
        first = next((path for path in sorted(files) if _wanted(path, prefix)), None)
        if folder in names or first is None:
            continue
        near = nearest(folder, names)
        yield finding_at(
            first,
            TOP,
            "intents/unknown-cluster",
            f"found the cluster {shown(folder)}, expected one of {CONFIGURATION_FILE}",
            f"did you mean {near}?" if near else f"add it to {CONFIGURATION_FILE}",
        )


def _twins(files: Mapping[str, bytes]) -> Iterable[Finding]:
    """Paths that are one file on a machine that folds case or Unicode forms."""
    seen: dict[str, str] = {}
    for path in sorted(filter(_ours, files)):
        folded = unicodedata.normalize("NFC", path).casefold()
        if folded in seen:
            yield finding_at(
                path,
                TOP,
                "files/twin",
                f"found a path that differs from {shown(seen[folded], 200)} only in case or "
                "Unicode form, expected paths that differ on every machine",
                "rename one of the two",
            )
        seen.setdefault(folded, path)


def is_template(path: str) -> bool:
    """Whether a person expects gitbot to read this path as a template."""
    folder, _, name = path.rpartition("/")
    return folder == "templates" and name.endswith(".j2")


def _templates(
    files: Mapping[str, bytes], render: Callable[[], Render | None]
) -> Iterable[Finding]:
    paths = sorted(filter(is_template, files))
    if not paths:
        return
    from gitbot.reports.own_templates import FORMS, render_text  # noqa: PLC0415 - where used
    from gitbot.workflows.core.own_wording import template_findings  # noqa: PLC0415 - as above

    for path in paths:
        form = FORMS.get(path.removeprefix("templates/"))
        if form is not None:
            yield from template_findings(form, files[path], render() or render_text)
            continue
        yield finding_at(
            path,
            TOP,
            "template/unknown",
            f"found a template that gitbot does not read, expected one of {', '.join(FORMS)}",
            "give it one of these names, or remove it",
            severity=Severity.WARNING,
        )


def _policies(
    files: Mapping[str, bytes],
    settings: Settings | None,
    shipped: Callable[[], Mapping[str, str]],
    runner: Callable[[], PolicyRunner | None],
) -> tuple[Finding, ...]:
    texts: dict[str, str] = {}
    for path in sorted(files):
        if path.startswith("policies/") and path.endswith(".yaml"):
            texts[path] = files[path].decode("utf-8", "replace")
    overrides = settings is not None and settings.overrides
    if not texts and not overrides:
        return ()
    from gitbot.policy import misdirected, pack_of, read_policies  # noqa: PLC0415 - CEL where used

    policies, found = read_policies({}, texts, runner=runner())
    if settings is None or not (policies.exemptions or overrides):
        return found
    packs = {path: text for path, text in shipped().items() if pack_of(path) in settings.packs}
    policies, _ = read_policies(packs, texts, runner=runner())
    return (*found, *misdirected(policies, files[CONFIGURATION_FILE]))
