"""The VM manifests that the configuration names: plain files and Kustomize, here or elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import TYPE_CHECKING, Any

from gitbot.cli.shared.lint_files import read_tree
from gitbot.cli.shared.vm_manifests import comparable, read_machines
from gitbot.documents import read_kubernetes_yaml
from gitbot.errors import InvalidInput, RepositoryError
from gitbot.kubernetes.objects import KubernetesObject
from gitbot.model.plan.findings import Finding
from gitbot.wiring import find_root

if TYPE_CHECKING:
    from gitbot.settings import ManifestSettings
    from gitbot.workflows.audit import Manifests
    from gitbot.workflows.core.revision import Revision

_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_REFERS = ("resources", "bases", "components")
_PATHS = (*_REFERS, "crds", "configurations")
_PATHS_OR_TEXTS = ("transformers", "generators", "validators", "patchesStrategicMerge")
_WITH_PATH = ("patches", "patchesJson6902", "replacements")
_GENERATORS = ("configMapGenerator", "secretGenerator")
_MAIN = "main"


def manifests_of(revision: Revision) -> Manifests:
    """Those of the working tree, and those of other repositories; what is not read is named."""
    from gitbot.workflows.audit import Manifests  # noqa: PLC0415 - keeps --help quick

    if not revision.settings.manifests:
        return Manifests()
    root = find_root(Path.cwd())
    machines: list[tuple[str, KubernetesObject]] = []
    findings: list[Finding] = []
    unread: list[str] = []
    for item in revision.settings.manifests:
        try:
            files, found = _files(root, item)
        except RepositoryError as error:
            unread.append(f"manifests of {item.repository}: {error}")
            continue
        findings += found
        if not any(_below(path, item.path) for path in files):
            unread.append(f"manifests {_named(item, item.path)}: found no file there")
        more, wrong, failed = _machines(files, item.path)
        machines += [(_named(item, path), machine) for path, machine in more]
        findings += wrong
        unread += [f"{_named(item, path)}: {why}" for path, why in failed]
    return Manifests(machines=tuple(machines), findings=tuple(findings), unread=tuple(unread))


def _files(root: Path, item: ManifestSettings) -> tuple[Mapping[str, bytes], tuple[Finding, ...]]:
    if item.repository is None and item.ref is None:
        read = read_tree(root, (item.path,))
        return read.contents, tuple(read.findings)
    from gitbot.wiring.manifests import files_elsewhere  # noqa: PLC0415 - Git only where used

    return files_elsewhere(root, item.repository or ".", item.ref or _MAIN), ()


def _named(item: ManifestSettings, path: str) -> str:
    """A path here; `repository@ref:path` elsewhere."""
    if item.repository is None and item.ref is None:
        return path
    return f"{item.repository or '.'}@{item.ref or _MAIN}:{path}"


def _machines(
    files: Mapping[str, bytes], folder: str
) -> tuple[list[tuple[str, KubernetesObject]], list[Finding], list[tuple[str, str]]]:
    """Plain manifests, what Kustomize builds, and the kustomizations that were not built."""
    kustomizations = {
        str(PurePosixPath(path).parent): path
        for path in sorted(files)
        if PurePosixPath(path).name in _NAMES and _below(path, folder)
    }
    plain = {
        path: data
        for path, data in files.items()
        if not any(_below(path, inside) for inside in kustomizations)
    }
    machines, findings = read_machines(plain, (folder,))
    failed: list[tuple[str, str]] = []
    inner = {part for path in kustomizations.values() for part in _referred(files[path], path)}
    for inside, path in kustomizations.items():
        if inside in inner:
            continue  # a base: another one builds it
        try:
            objects = _built(files, inside, path)
        except InvalidInput as error:
            failed.append((path, f"Kustomize: {error.message}"))
            continue
        more, why = comparable(path, objects)
        machines += more
        findings += why
    return machines, findings, failed


def _built(files: Mapping[str, bytes], folder: str, path: str) -> list[KubernetesObject]:
    from gitbot.wiring.manifests import built  # noqa: PLC0415 - a program only where it is needed

    places = {str(place) for file in files for place in (file, *PurePosixPath(file).parents)}
    for where, name in _absent(files, places, path, set()):
        raise InvalidInput(f"{name} in {where}: no such file here, and gitbot fetches nothing")
    return list(read_kubernetes_yaml(built(files, folder), path))


def _referred(data: bytes, path: str) -> Iterator[str]:
    """The folders that a kustomization builds on."""
    try:
        read = list(read_kubernetes_yaml(data, path))
    except InvalidInput:
        return  # building it says so
    for obj in read:
        for field in _REFERS:
            for name in _entries(obj, field):
                yield _beside(path, str(name))


def _absent(
    files: Mapping[str, bytes], places: set[str], path: str, seen: set[str]
) -> Iterator[tuple[str, str]]:
    """Entries of a kustomization and its bases that Kustomize would fetch from elsewhere.

    `places` are all files and folders. Raises InvalidInput for a kustomization that cannot be read
    here: Kustomize might read it, and fetch what it names.
    """
    seen.add(path)
    for obj in read_kubernetes_yaml(files[path], path):
        for name in _loaded(obj):
            inside = _beside(path, name)
            if inside not in places:
                yield path, name
            for inner in (f"{inside}/{kind}" for kind in _NAMES):
                if inner in files and inner not in seen:
                    yield from _absent(files, places, inner, seen)


def _loaded(obj: KubernetesObject) -> Iterator[str]:
    """The files, folders and addresses that Kustomize loads for one kustomization."""
    for field in (*_PATHS, *_PATHS_OR_TEXTS):
        for name in _entries(obj, field):
            if field in _PATHS or not {"\n", "{"} & set(str(name)):  # else a patch, inline
                yield str(name)
    for field in _WITH_PATH:
        for item in _entries(obj, field):
            if isinstance(item, dict) and "path" in item:
                yield str(item["path"])
    for field in _GENERATORS:
        for item in _entries(obj, field):
            if isinstance(item, dict):
                for name in (*_entries(item, "files"), *_entries(item, "envs")):
                    yield str(name).rpartition("=")[2]


def _entries(obj: Mapping[str, Any], field: str) -> list[Any]:
    """Nothing unless it is a list: Kustomize will say so."""
    found = obj.get(field)
    return found if isinstance(found, list) else []


def _beside(path: str, name: str) -> str:
    return normpath(str(PurePosixPath(path).parent / name))


def _below(path: str, folder: str) -> bool:
    return folder in ("", ".") or path == folder or path.startswith(f"{folder.rstrip('/')}/")
