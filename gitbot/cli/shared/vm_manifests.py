"""The VirtualMachines in the manifests that the configuration names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitbot.documents import TOP, finding_at, read_kubernetes_yaml
from gitbot.errors import InvalidInput
from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.model.plan.findings import Finding, Severity

_READ = (".yaml", ".yml", ".json")


def read_machines(
    files: Mapping[str, bytes], folders: Iterable[str]
) -> tuple[list[tuple[str, KubernetesObject]], list[Finding]]:
    """Each VirtualMachine below the folders with its file; findings about what is not YAML."""
    below = tuple(f"{folder}/" for folder in folders)
    machines: list[tuple[str, KubernetesObject]] = []
    unread: list[Finding] = []
    for path in sorted(files):
        if not path.lower().endswith(_READ) or not path.startswith(below):
            continue
        try:
            found = read_kubernetes_yaml(files[path], path)
        except InvalidInput as error:
            unread.append(_not_yaml(path, error))
            continue
        machines += [(path, item) for item in found if at(item, "kind") == "VirtualMachine"]
    return machines, unread


def _not_yaml(path: str, error: InvalidInput) -> Finding:
    """A manifest that is not YAML (maybe a template) is not judged, and never counts as clean."""
    message = f"found a manifest that cannot be read ({error.message}), expected YAML"
    hint = "give manifests another path if these are templates"
    return finding_at(path, TOP, "files/manifest", message, hint, severity=Severity.WARNING)
