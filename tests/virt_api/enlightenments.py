"""Hyper-V enlightenments that need each other, filled in where a VMI is silent.

Source: KubeVirt 1.9.0, pkg/defaults/hyperv.go.
"""

from __future__ import annotations

from typing import Any

from gitbot.kubernetes.objects import Json, at, with_value

# What needs what, leaves first: the order in which they are filled in and refused.
NEEDS = (
    ("evmcs", "vapic"),
    ("ipi", "vpindex"),
    ("tlbflush", "vpindex"),
    ("synictimer", "synic"),
    ("synic", "vpindex"),
)
PATH = ("domain", "features", "hyperv")
NESTED = "vmx"


def with_enlightenments(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec with every named enlightenment switched on or off, and with what they need.

    Where one needs what was switched off, the rest stays as it is: the rules refuse it then.
    """
    given = at(spec, *PATH)
    if given is None:
        return spec
    found = {
        name: {"enabled": True, **state} if isinstance(state, dict) and name != "evmcs" else state
        for name, state in given.items()
    }
    if found.get("evmcs") is not None:
        found["evmcs"] = {"enabled": True, **found["evmcs"]}
    complete = True
    for feature, needed in NEEDS:
        if not is_on(found, feature):
            continue
        if at(found, needed, "enabled") is None:
            found[needed] = {**(found.get(needed) or {}), "enabled": True}
        elif not is_on(found, needed):
            complete = False
            break
    changed = with_value(spec, found, *PATH)
    return _with_nesting(changed) if complete and is_on(found, "evmcs") else changed


def is_on(hyperv: Json, feature: str) -> bool:
    """Whether a feature is switched on."""
    return at(hyperv, feature, "enabled") is True


def _with_nesting(spec: dict[str, Any]) -> dict[str, Any]:
    """Evmcs needs a CPU that nests: a feature of the guest's CPU, hence a label of its nodes."""
    wanted = {"name": NESTED, "policy": "require"}
    given = list(at(spec, "domain", "cpu", "features", default=[]))
    named = [index for index, feature in enumerate(given) if feature.get("name") == NESTED]
    if named:
        given[named[0]] = {**given[named[0]], **wanted}
    else:
        given.append(wanted)
    return with_value(spec, given, "domain", "cpu", "features")
