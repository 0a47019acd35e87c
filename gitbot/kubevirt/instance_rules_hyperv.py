"""Hyper-V enlightenments that need each other: filled in where a VMI is silent, else refused.

Source: KubeVirt 1.9.0, pkg/defaults/hyperv.go and pkg/virt-api/webhooks/hyperv.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gitbot.kubevirt.edits import with_value
from gitbot.kubevirt.rule import invalid_value, required_value
from gitbot.kubevirt.verdicts import Cause
from gitbot.model.objects import Json, at

# What needs what, leaves first: the order in which they are filled in and refused.
_NEEDS = (
    ("evmcs", "vapic"),
    ("ipi", "vpindex"),
    ("tlbflush", "vpindex"),
    ("synictimer", "synic"),
    ("synic", "vpindex"),
)
_PATH = ("domain", "features", "hyperv")
_NESTED = "vmx"


def with_enlightenments(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec with every named enlightenment switched on or off, and with what they need.

    Where one needs what was switched off, the rest stays as it is: the rules refuse it then.
    """
    given = at(spec, *_PATH)
    if given is None:
        return spec
    found = {
        name: {"enabled": True, **state} if isinstance(state, dict) and name != "evmcs" else state
        for name, state in given.items()
    }
    if found.get("evmcs") is not None:
        found["evmcs"] = {"enabled": True, **found["evmcs"]}
    complete = True
    for feature, needed in _NEEDS:
        if not _on(found, feature):
            continue
        if at(found, needed, "enabled") is None:
            found[needed] = {**(found.get(needed) or {}), "enabled": True}
        elif not _on(found, needed):
            complete = False
            break
    changed = with_value(spec, found, *_PATH)
    return _with_nesting(changed) if complete and _on(found, "evmcs") else changed


def _on(hyperv: Json, feature: str) -> bool:
    return at(hyperv, feature, "enabled") is True


def _with_nesting(spec: dict[str, Any]) -> dict[str, Any]:
    """Evmcs needs a CPU that nests: a feature of the guest's CPU, hence a label of its nodes."""
    wanted = {"name": _NESTED, "policy": "require"}
    given = list(at(spec, "domain", "cpu", "features", default=[]))
    named = [index for index, feature in enumerate(given) if feature.get("name") == _NESTED]
    if named:
        given[named[0]] = {**given[named[0]], **wanted}
    else:
        given.append(wanted)
    return with_value(spec, given, "domain", "cpu", "features")


def hyperv(spec: Json, path: str) -> Iterator[Cause]:
    """Asked of a VMI alone. The paths name the features twice, as virt-api's do."""
    field, found = f"{path}.domain.features.hyperv", at(spec, *_PATH)
    for feature, needed in _NEEDS if found is not None else ():
        if _on(found, feature) and not _on(found, needed):
            where = f"{field}.domain.features.hyperv"
            text = f"'{where}.{feature}' requires '{where}.{needed}', which was disabled."
            yield invalid_value(f"{where}.{feature}", text)
    if at(found, "evmcs") is not None and at(found, "evmcs", "enabled") is not False:
        yield from _nesting(spec)
    if found is not None and at(spec, "domain", "features", "hypervPassthrough") is not None:
        text = "Cannot explicitly set hyperV features if HypervPassthrough is being used. "
        text += "Please use either HyperV or HypervPassthrough."
        yield invalid_value(field, text)


def _nesting(spec: Json) -> Iterator[Cause]:
    features = at(spec, "domain", "cpu", "features", default=[])
    field = "spec.domain.cpu.features"
    if not features:
        yield required_value(field, f"{_NESTED} cpu feature is required when evmcs is set")
    for index, feature in enumerate(features):
        if feature.get("name") == _NESTED and feature.get("policy") != "require":
            text = f"{_NESTED} cpu feature has to be set to require policy"
            yield invalid_value(f"{field}[{index}].policy", text)
