"""LoadRule as a kind: its example, selectors and healing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gitbot.intents.intent import Intent
from gitbot.intents.kinds.kind import Healing, Kind, Role, VmSelector
from gitbot.intents.kinds.load_rule.check import check
from gitbot.intents.kinds.load_rule.spec import LoadRuleSpec
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import ClusterLoad
from gitbot.model.plan.constraint import RuleConstraint


def _selectors(_: Intent, spec: LoadRuleSpec) -> Iterator[VmSelector]:
    if spec.protected is not None:
        path = ("spec", "protected")
        yield VmSelector(path=path, selector=spec.protected, namespaces=spec.namespaces)


def _healing(spec: LoadRuleSpec) -> Healing:
    return Healing(heal=spec.heal, sustained=spec.sustained)


def _measured(
    asked: Iterable[tuple[Intent, LoadRuleSpec]], snapshot: ClusterSnapshot, load: ClusterLoad
) -> tuple[RuleConstraint, ...]:
    from gitbot.intents.kinds.load_rule.compile import measured  # noqa: PLC0415 - numpy

    return measured(asked, snapshot, load)


def _unmeasured(spec: LoadRuleSpec, load: ClusterLoad) -> str:
    known = any(spec.metric in values for values in load.by_node.values())
    return "" if known else f"no {spec.metric} was measured"


_EXAMPLE = """\
# A node that stays above a measured load gives one VM away. Needs the cluster's `load`.
apiVersion: API_VERSION
kind: LoadRule
metadata: {name: example-cool}
spec:
  metric: cpu
  above: 85                         # percent
  sustained: PT30M
  namespaces: [example]
  heal: Report                      # Propose opens a pull request
"""

KIND = Kind(
    name="LoadRule",
    spec=LoadRuleSpec,
    namespaced=False,
    role=Role.RULE,
    check=check,
    description="A standing wish: a node above a measured load is relieved by one VM.",
    example=_EXAMPLE,
    selectors=_selectors,
    healing=_healing,
    measured=_measured,
    unmeasured=_unmeasured,
)
