"""Who may write which labels and annotations of a VMI.

Source: KubeVirt 1.9.0, pkg/virt-api/webhooks (vmi-create-admitter.go, serviceaccounts.go).
"""

from __future__ import annotations

from collections.abc import Iterator

from gitbot.kubernetes.objects import Json, KubernetesObject
from gitbot.kubevirt import names
from gitbot.kubevirt.kubevirt_object import gate
from gitbot.kubevirt.webhook_answers import Cause, invalid_value
from gitbot.simulation.kubevirt.instance_admission import RESERVED_LABELS, is_kubevirt

_IGNITION = "kubevirt.io/ignitiondata"


def metadata_causes(
    metadata: Json, path: str, user: str, kubevirt: KubernetesObject
) -> Iterator[Cause]:
    """Reserved labels, and annotations whose feature is off."""
    labels = metadata.get("labels") or {}
    if not is_kubevirt(user, kubevirt) and any(key in labels for key in RESERVED_LABELS):
        text = (
            "creation of the following reserved kubevirt.io/ labels on a VMI object is prohibited"
        )
        yield Cause(reason="FieldValueNotSupported", message=text, field=f"{path}.labels")
    annotations, field = metadata.get("annotations") or {}, f"{path}.annotations"
    if annotations.get(_IGNITION) and not gate(kubevirt, "ExperimentalIgnitionSupport"):
        text = "ExperimentalIgnitionSupport feature gate is not enabled in kubevirt-config, "
        yield invalid_value(field, f"{text}invalid entry {field}.{_IGNITION}")
    if annotations.get(names.HOOK_SIDECARS) and not gate(kubevirt, "Sidecar"):
        text = "sidecar feature gate is not enabled in kubevirt-config, invalid entry"
        yield invalid_value(field, f"{text} {field}.{names.HOOK_SIDECARS}")
