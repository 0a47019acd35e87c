"""What types cannot check of a PlacementRule."""

from gitbot.documents import Report, value_at
from gitbot.intents.affinity_checks import check_affinity, check_node_affinity, check_spread
from gitbot.intents.kinds.placement_rule.spec import PARTS
from gitbot.intents.selectors import check_selector


def check(report: Report) -> None:
    check_selector(report, ("spec", "selector"))
    spec = value_at(report.document.value, ("spec",))
    if isinstance(spec, dict) and not any(part in spec for part in PARTS):
        report.at_key(
            ("spec",),
            "missing-field",
            f"found none of {', '.join(PARTS)}, expected at least one",
            "a rule without one says nothing; add nodeAffinity",
        )
    check_node_affinity(report, ("spec", "nodeAffinity"))
    check_affinity(report, ("spec", "affinity"))
    check_affinity(report, ("spec", "antiAffinity"))
    check_spread(report, ("spec", "topologySpread"))
