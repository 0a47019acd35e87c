"""The VirtualMachines in the manifests that the configuration names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gitbot.documents import TOP, finding_at, read_kubernetes_yaml
from gitbot.errors import InvalidInput
from gitbot.kubernetes.objects import KubernetesObject, at
from gitbot.kubevirt.names import PLACEMENT_FIELDS
from gitbot.model.plan.findings import Finding, Severity

_READ = (".yaml", ".yml", ".json")
_CHART = re.compile(r"(?:^|/)templates/")
_FILLED_LATER = re.compile(r"\$\{[^}]*\}|\{\{")  # by Flux (postBuild), or by Helm
_NAMED = ("name", "namespace")


def read_machines(
    files: Mapping[str, bytes], folders: Iterable[str]
) -> tuple[list[tuple[str, KubernetesObject]], list[Finding]]:
    """Each VirtualMachine below the folders with its file, and findings about what is not read.

    Those of a List count one by one. A value that Flux or Helm fills in later is not known here,
    so a VM with one in its name or its placement is a finding, not a manifest.
    """
    below = tuple(f"{folder}/" for folder in folders)
    machines: list[tuple[str, KubernetesObject]] = []
    unread: list[Finding] = []
    for path in sorted(files):
        if not path.lower().endswith(_READ) or not path.startswith(below):
            continue
        try:
            found = read_kubernetes_yaml(files[path], path)
        except InvalidInput as error:
            unread.append(_not_yaml(path, error, files))
            continue
        more, why = comparable(path, found)
        machines += more
        unread += why
    return machines, unread


def comparable(
    path: str, values: Iterable[Any]
) -> tuple[list[tuple[str, KubernetesObject]], list[Finding]]:
    """The VirtualMachines among the objects of a file, and findings about the others of them."""
    machines: list[tuple[str, KubernetesObject]] = []
    unread: list[Finding] = []
    for machine in _machines(values):
        name = at(machine, "metadata", "name")
        later = next(_filled_later(machine), "")
        if later:
            message = f"found {later} in VirtualMachine {name}, expected its value"
            hint = "it is not compared: gitbot does not know what is put in place of it"
            unread.append(_finding(path, message, hint))
        elif not isinstance(name, str) or not name:
            message = "found a VirtualMachine without metadata.name, expected one"
            unread.append(_finding(path, message, "it is not compared with a live VM"))
        else:
            machines.append((path, machine))
    return machines, unread


def _machines(values: Iterable[Any]) -> Iterator[KubernetesObject]:
    """The VirtualMachines of documents, lists and lists in lists."""
    for value in values:
        if isinstance(value, Sequence) and not isinstance(value, str):
            yield from _machines(value)
        elif at(value, "kind") == "VirtualMachine":
            yield value
        elif at(value, "kind") in ("List", "VirtualMachineList"):
            items = at(value, "items", default=[])
            typed = at(value, "kind") == "VirtualMachineList"
            yield from _machines(
                {"kind": "VirtualMachine", **item} if typed and isinstance(item, dict) else item
                for item in (items if isinstance(items, list) else ())
            )


def _filled_later(machine: KubernetesObject) -> Iterator[str]:
    """Marks in the fields that say which VM it is, and where it may run."""
    spec = at(machine, "spec", "template", "spec", default={})
    asked = [spec.get(field) for field in PLACEMENT_FIELDS] if isinstance(spec, dict) else [spec]
    named = [at(machine, "metadata", key) for key in _NAMED]
    for text in _texts([*named, *asked]):
        if found := _FILLED_LATER.search(text):
            yield text if found[0] == "{{" else found[0]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _not_yaml(path: str, error: InvalidInput, files: Mapping[str, bytes]) -> Finding:
    """A manifest that is not YAML (maybe a template) is not judged, and never counts as clean."""
    chart = f"{path[: found.start()]}/Chart.yaml" if (found := _CHART.search(path)) else ""
    if chart.lstrip("/") in files:
        message = f"found a template of the Helm chart {chart.lstrip('/')}, expected a manifest"
        hint = "it is not compared: store what `helm template` prints, and name that folder"
        return _finding(path, message, hint)
    message = f"found a manifest that cannot be read ({error.message}), expected YAML"
    hint = "give manifests another path if these are templates"
    return finding_at(path, TOP, "files/manifest", message, hint, severity=Severity.WARNING)


def _finding(path: str, message: str, hint: str) -> Finding:
    return finding_at(path, TOP, "files/manifest", message, hint, severity=Severity.NOTE)
