"""What types cannot check of a MigrationRequest."""

from dataclasses import replace

from gitbot.calendar import instant
from gitbot.documents import Report, value_at
from gitbot.intents.kinds.migration_request.spec import TARGETS, VMS
from gitbot.intents.selectors import (
    check_repetition,
    check_selector,
)
from gitbot.intents.spec_fields import exactly_one
from gitbot.model.plan.findings import Finding

_RESTARTS = (
    "remove it: gitbot migrates live and never restarts a VM; where only a restart helps the plan "
    "says so, and the VM's owner does it: virtctl restart NAME"
)
_STORAGE = (
    "remove it: gitbot moves VMs between nodes and leaves their volumes; the VM's owner moves "
    "these: new volumes in the VM's template, with spec.updateVolumesStrategy: Migration"
)
_NETWORK = (
    "remove it: gitbot moves VMs between nodes and leaves their networks; the VM's owner changes "
    "these in the VM: spec.template.spec.networks"
)
_PRIORITY = (
    "remove it: notBefore and deadline say when a request runs; which pods make room for a VM is "
    "for its owner to say: spec.template.spec.priorityClassName"
)
_NOT_ASKED_HERE = {
    **dict.fromkeys(
        ("allowrestart", "allowreboot", "restart", "reboot", "mode", "offline", "online"), _RESTARTS
    ),
    **dict.fromkeys(("live", "cold", "force", "shutdown"), _RESTARTS),
    **dict.fromkeys(("storage", "storageclass", "storageclassname", "datastore"), _STORAGE),
    **dict.fromkeys(("volume", "volumes", "disk", "disks", "datavolumes"), _STORAGE),
    **dict.fromkeys(("network", "networks", "networkname", "vlan", "interfaces"), _NETWORK),
    **dict.fromkeys(("priority", "priorityclass", "priorityclassname"), _PRIORITY),
}
"""Fields that other tools have, in lower case, with who can do it and how."""


def check(report: Report) -> None:
    exactly_one(report, ("spec", "vms"), VMS)
    exactly_one(report, ("spec", "target"), TARGETS)
    check_selector(report, ("spec", "vms", "selector"))
    check_repetition(report, ("spec", "vms", "names"))
    vms = value_at(report.document.value, ("spec", "vms"))
    if isinstance(vms, dict) and "maxCount" in vms and "selector" not in vms:
        report.at_key(
            ("spec", "vms", "maxCount"),
            "exclusive",
            "found maxCount without selector, expected it with selector only",
            "remove it",
        )
    names = vms.get("names") if isinstance(vms, dict) else None
    if isinstance(vms, dict) and "from" in vms and not (isinstance(names, list) and len(names) < 2):
        report.at_key(
            ("spec", "vms", "from"),
            "exclusive",
            "found from, expected it with one name in names only",
            "write one request for each VM, or remove it",
        )
    _check_pin(report)
    _check_times(report)
    report.findings[:] = [_answered(finding) for finding in report.findings]


def _answered(finding: Finding) -> Finding:
    """Who does what the request asks for, if it is not a move between nodes."""
    hint = _NOT_ASKED_HERE.get(finding.key_path.rpartition(".")[2].lower())
    if hint is None or not finding.code.endswith("/unknown-field"):
        return finding
    return replace(finding, hint=hint)


def _check_pin(report: Report) -> None:
    pin = value_at(report.document.value, ("spec", "pin"))
    if value_at(report.document.value, ("spec", "target", "balance")) and pin in ("Zone", "None"):
        report.at_value(
            ("spec", "pin"),
            "exclusive",
            f"found pin {pin} with target.balance, expected Node: the plan chooses each node",
            "remove it",
        )


def _check_times(report: Report) -> None:
    spec = value_at(report.document.value, ("spec",))
    if not isinstance(spec, dict):
        return
    begin, end = _seconds(spec.get("notBefore")), _seconds(spec.get("deadline"))
    if begin is None or end is None or begin < end:
        return
    what = "the same moment as notBefore" if begin == end else "a time before notBefore"
    report.at_value(
        ("spec", "deadline"),
        "interval",
        f"found {what}, expected a deadline after notBefore",
        "correct one of the two",
    )


def _seconds(text: object) -> int | None:
    if not isinstance(text, str):
        return None
    try:
        return instant(text)
    except ValueError:
        return None
