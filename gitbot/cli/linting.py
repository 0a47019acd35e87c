"""What lint says about the files of a repository: configuration, intents, policies. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping

from gitbot.adapters.files import CONFIGURATION_FILE
from gitbot.documents.positions import shown
from gitbot.documents.words import nearest
from gitbot.errors import InvalidInput
from gitbot.intents import read_intents
from gitbot.intents.places import is_ours
from gitbot.model.findings import Finding, Severity, sort_key
from gitbot.model.objects import KubernetesObject, at
from gitbot.settings import ClusterSettings, Settings, read_settings

MISSING = "files/missing"
_READ = (".yaml", ".yml", ".json")


def lint(files: Mapping[str, bytes]) -> tuple[Finding, ...]:
    """Every finding about the files of a repository, by repository path; sorted.

    Reads no clock and no cluster: what needs one is said by `check`.
    """
    settings, findings = _settings(files)
    folders = sorted({_folder(path) for path in files if path.startswith("intents/")} - {""})
    found = [*findings, *_twins(files), *_stray(files)]
    if settings is not None:
        found += _unknown_clusters(files, folders, settings)
    machines, unread = _machines(files, settings)
    found += unread
    for cluster in _clusters(folders, settings):
        prefix = f"intents/{cluster}/"
        texts = {path: files[path] for path in files if _wanted(path, prefix)}
        intents, about = read_intents(texts, settings or _lenient(cluster), cluster)
        found += about
        if machines:
            from gitbot.intents.manifests import misleading_labels  # noqa: PLC0415 - seldom

            found += misleading_labels(intents, machines)
    found += _policies(files)
    return tuple(sorted(set(found), key=sort_key))


def _settings(files: Mapping[str, bytes]) -> tuple[Settings | None, tuple[Finding, ...]]:
    if CONFIGURATION_FILE in files:
        return read_settings(files[CONFIGURATION_FILE], CONFIGURATION_FILE)
    message = f"found no configuration, expected {CONFIGURATION_FILE}"
    hint = "`gitbot init` in an empty folder writes an example"
    return None, (_about(CONFIGURATION_FILE, MISSING, message, hint),)


def manifest_folders(configuration: bytes) -> tuple[str, ...]:
    """The folders of this repository where the configuration says that VM manifests live."""
    settings, _ = read_settings(configuration, CONFIGURATION_FILE)
    manifests = settings.manifests if settings is not None else ()
    return tuple(item.path for item in manifests if item.repository is None)


def _machines(
    files: Mapping[str, bytes], settings: Settings | None
) -> tuple[list[KubernetesObject], list[Finding]]:
    """The VirtualMachines of the manifests, and files of them that are no YAML."""
    machines: list[KubernetesObject] = []
    unread: list[Finding] = []
    folders = [item.path for item in settings.manifests] if settings is not None else []
    if not folders:
        return machines, unread
    from gitbot.documents.kubernetes_yaml import read_kubernetes_yaml  # noqa: PLC0415 - seldom

    for path in sorted(files):
        if not path.lower().endswith(_READ) or not any(path.startswith(f"{f}/") for f in folders):
            continue
        try:
            found = read_kubernetes_yaml(files[path], path)
        except InvalidInput as error:
            unread.append(_not_yaml(path, error))
            continue
        machines += [item for item in found if at(item, "kind") == "VirtualMachine"]
    return machines, unread


def _not_yaml(path: str, error: InvalidInput) -> Finding:
    """A manifest that is no YAML (a template, maybe) is not judged, and never looks clean."""
    return Finding(
        code="files/manifest",
        severity=Severity.WARNING,
        message=f"found a manifest that cannot be read ({error.message}), expected YAML",
        file=path,
        line=1,
        column=1,
        hint="give manifests another path if these are templates",
    )


def _clusters(folders: list[str], settings: Settings | None) -> list[str]:
    if settings is None:
        return folders
    return [folder for folder in folders if settings.cluster(folder) is not None]


def _lenient(cluster: str) -> Settings:
    """Where the configuration is wrong: settings that add no finding to the intents'."""
    return Settings.model_construct(
        clusters=(ClusterSettings.model_construct(name=cluster, time_zone="UTC"),), allow_auto=True
    )


def _ours(path: str) -> bool:
    return path.startswith(("intents/", "policies/"))


def _wanted(path: str, prefix: str) -> bool:
    return path.startswith(prefix) and is_ours(path)


def _folder(path: str) -> str:
    steps = path.split("/")
    return steps[1] if len(steps) > 2 else ""


def _stray(files: Mapping[str, bytes]) -> Iterable[Finding]:
    for path in files:
        steps = path.split("/")
        if steps[0] == "intents" and len(steps) == 2 and is_ours(path):
            yield _about(
                path,
                "intents/place",
                "found an intent file in no cluster's folder, expected intents/<cluster>/",
                "move it into the folder of its cluster",
            )


def _unknown_clusters(
    files: Mapping[str, bytes], folders: list[str], settings: Settings
) -> Iterable[Finding]:
    names = [cluster.name for cluster in settings.clusters]
    for folder in folders:
        prefix = f"intents/{folder}/"
        first = next((path for path in sorted(files) if _wanted(path, prefix)), None)
        if folder in names or first is None:
            continue
        near = nearest(folder, names)
        yield _about(
            first,
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
            yield _about(
                path,
                "files/twin",
                f"found a path that differs from {shown(seen[folded], 200)} only in case or "
                "Unicode form, expected paths that differ on every machine",
                "rename one of the two",
            )
        seen.setdefault(folded, path)


def _policies(files: Mapping[str, bytes]) -> tuple[Finding, ...]:
    texts: dict[str, str] = {}
    for path in sorted(files):
        if path.startswith("policies/") and path.endswith(".yaml"):
            texts[path] = files[path].decode("utf-8", "replace")
    if not texts:
        return ()
    from gitbot.policy import read_policies  # noqa: PLC0415 - the CEL runtime only where used

    return read_policies(texts)[1]


def _about(path: str, code: str, message: str, hint: str) -> Finding:
    return Finding(
        code=code,
        severity=Severity.ERROR,
        message=message,
        file=path,
        line=1,
        column=1,
        hint=hint,
    )
