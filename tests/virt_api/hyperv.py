"""Hyper-V enlightenments that need each other: what virt-api refuses of a VMI.

Source: KubeVirt 1.9.0, pkg/virt-api/webhooks/hyperv.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, at
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from tests.virt_api.causes import required_value
from tests.virt_api.enlightenments import NEEDS, NESTED, PATH, is_on


def hyperv(spec: Json, path: str) -> Iterator[Cause]:
    """Asked of a VMI alone. The paths name the features twice, as virt-api's do."""
    field, found = f"{path}.domain.features.hyperv", at(spec, *PATH)
    for feature, needed in NEEDS if found is not None else ():
        if is_on(found, feature) and not is_on(found, needed):
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
        yield required_value(field, f"{NESTED} cpu feature is required when evmcs is set")
    for index, feature in enumerate(features):
        if feature.get("name") == NESTED and feature.get("policy") != "require":
            text = f"{NESTED} cpu feature has to be set to require policy"
            yield invalid_value(f"{field}[{index}].policy", text)
