"""The eviction webhook: what happens when somebody evicts a launcher pod."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from gitbot.kubernetes.objects import (
    KubernetesObject,
    annotations_of,
    at,
    condition_of,
    labels_of,
    name_of,
    with_value,
)
from gitbot.kubernetes.phases import is_final
from gitbot.kubevirt import names
from gitbot.kubevirt.admission import Admitted, WebhookAnswer, denied
from gitbot.kubevirt.kubevirt_object import setting
from gitbot.kubevirt.launcher_pod import is_launcher

_WEBHOOK = "virt-launcher-eviction-interceptor.kubevirt.io"
_DESCHEDULER = "sigs.k8s.io/descheduler"


class Prediction(StrEnum):
    """What an eviction (a drain, a descheduler) does to a VM."""

    MIGRATE = "migrate"
    RESTART = "restart"
    BLOCK = "block"
    WAIT = "wait"


def eviction_strategy(vmi: KubernetesObject, kubevirt: KubernetesObject | None = None) -> str:
    """The effective strategy: the VMI's own, else the cluster's, else None."""
    own = at(vmi, "spec", "evictionStrategy")
    return str(own or setting(kubevirt or {}, "evictionStrategy", default="None"))


def is_migratable(vmi: KubernetesObject) -> bool:
    """Whether condition LiveMigratable is True; a missing condition counts as False."""
    return bool(at(condition_of(vmi, "LiveMigratable"), "status") == "True")


def predict_eviction(vmi: KubernetesObject, kubevirt: KubernetesObject | None = None) -> Prediction:
    """The effect of a drain of its node on this VM.

    `restart`: the guest shuts down with the pod, and starts elsewhere if its run strategy requires
    that. `wait`: KubeVirt refuses and does nothing more; the drain continues only after another
    mover has moved the VM.
    """
    match eviction_strategy(vmi, kubevirt):
        case "LiveMigrate":
            return Prediction.MIGRATE if is_migratable(vmi) else Prediction.BLOCK
        case "LiveMigrateIfPossible":
            return Prediction.MIGRATE if is_migratable(vmi) else Prediction.RESTART
        case "External":
            return Prediction.WAIT
        case _:
            return Prediction.RESTART


def eviction_words(vmi: KubernetesObject, kubevirt: KubernetesObject | None = None) -> str:
    """`evictionStrategy External: a drain would wait until somebody else has moved it`."""
    words = {
        Prediction.MIGRATE: "a drain would migrate it",
        Prediction.RESTART: "a drain would stop its guest and start it elsewhere",
        Prediction.BLOCK: "it would block a drain for good",
        Prediction.WAIT: "a drain would wait until somebody else has moved it",
    }[predict_eviction(vmi, kubevirt)]
    return f"evictionStrategy {eviction_strategy(vmi, kubevirt)}: {words}"


def admit_eviction(
    pod: KubernetesObject,
    *,
    vmi: KubernetesObject | None,
    kubevirt: KubernetesObject,
    dry_run: bool = False,
    annotations: Mapping[str, str] | None = None,
    owner: KubernetesObject | None = None,
) -> WebhookAnswer:
    """Decide about a request to evict `pod`.

    `vmi` is the VMI that the pod's annotation kubevirt.io/domain names (for a hotplug pod that of
    its `owner` pod), None if it does not exist; `annotations` are the Eviction's. A refusal may
    carry the mark that makes KubeVirt evacuate the VMI.
    """
    if labels_of(pod).get(names.APP) == "hotplug-disk":
        return _hotplug(pod, vmi, owner)
    if not is_launcher(pod) or is_final(pod) or names.DOMAIN not in annotations_of(pod):
        return Admitted()
    if vmi is None:
        name = annotations_of(pod)[names.DOMAIN]
        text = f'virtualmachineinstances.kubevirt.io "{name}" not found'
        return denied(_WEBHOOK, 429, f"kubevirt failed getting the vmi: {text}")
    return _launcher(pod, vmi, kubevirt, dry_run, annotations or {})


def _launcher(
    pod: KubernetesObject,
    vmi: KubernetesObject,
    kubevirt: KubernetesObject,
    dry_run: bool,
    annotations: Mapping[str, str],
) -> WebhookAnswer:
    prediction = predict_eviction(vmi, kubevirt)
    if prediction is Prediction.BLOCK:
        text = (
            f"VMI {name_of(vmi).name} is configured with an eviction strategy but is not "
            "live-migratable"
        )
        return denied(_WEBHOOK, 429, text)
    if prediction is Prediction.RESTART:
        return Admitted()
    text = f'Eviction triggered evacuation of VMI "{name_of(vmi)}"'
    if at(vmi, "status", "evacuationNodeName"):
        return denied(_WEBHOOK, 429, f"Evacuation in progress: {text}")
    node = at(pod, "spec", "nodeName", default="")
    if at(vmi, "status", "nodeName", default="") != node:
        return denied(_WEBHOOK, 429, "Eviction request for target Pod")
    if dry_run:
        return denied(_WEBHOOK, 429, text)
    marked = with_value(vmi, node, "status", "evacuationNodeName")
    if annotations.get("requested-by") == _DESCHEDULER:
        own = annotations_of(vmi)
        # If the VMI has no annotations, KubeVirt writes the key escaped, as in a JSON pointer.
        key = names.EVICTION_SOURCE if own else names.EVICTION_SOURCE.replace("/", "~1")
        marked = with_value(marked, {**own, key: "descheduler"}, "metadata", "annotations")
    return denied(_WEBHOOK, 429, text, effects=(marked,))


def _hotplug(
    pod: KubernetesObject, vmi: KubernetesObject | None, owner: KubernetesObject | None
) -> WebhookAnswer:
    if owner is None or vmi is None or not is_launcher(owner) or is_final(owner):
        return Admitted()
    text = (
        f"cannot evict hotplug pod: {name_of(pod).name} associated with running vmi: "
        f"{name_of(vmi).name} in namespace {name_of(pod).namespace}"
    )
    return denied(_WEBHOOK, 429, text)


def run_strategy(vm: KubernetesObject) -> str:
    """The run strategy of a VirtualMachine; the old field `running` counts as Always or Halted."""
    strategy = at(vm, "spec", "runStrategy")
    if strategy:
        return str(strategy)
    return "Always" if at(vm, "spec", "running") else "Halted"
