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

_OFFLINE = frozenset(
    {
        "allowrestart",
        "allowreboot",
        "restart",
        "reboot",
        "mode",
        "offline",
        "online",
        "live",
        "cold",
        "force",
        "shutdown",
    }
)
_NEVER_RESTARTS = (
    "remove it: gitbot migrates live and never restarts a VM; where only a restart helps the plan "
    "says so, and the VM's owner does it: virtctl restart NAME"
)


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
    report.findings[:] = [_without_restart(finding) for finding in report.findings]


def _without_restart(finding: Finding) -> Finding:
    """What to do instead, for requests that other tools fulfil by a restart."""
    words = finding.key_path.rpartition(".")[2].lower()
    if not finding.code.endswith("/unknown-field") or words not in _OFFLINE:
        return finding
    return replace(finding, hint=_NEVER_RESTARTS)


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
