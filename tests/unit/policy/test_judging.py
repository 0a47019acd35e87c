from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.cluster.load import ClusterLoad, LoadValue
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.findings import Severity
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import PlacementProblem
from gitbot.model.text.names import IntentRef
from gitbot.policy import Verdict, judge, pack_of, read_policies
from tests.unit.policy.test_files import SHIPPED
from tests.unit.reports.plans import PLAN, REQUEST, RULE, STARTS

SNAPSHOT = ClusterSnapshot(
    cluster="iberia",
    taken_at=STARTS - 60,
    digest="",
    objects={
        "Node": (
            {
                "metadata": {"name": "kni-worker2", "labels": {"performance": "high"}},
                "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
            },
        ),
        "VirtualMachineInstance": (
            {
                "metadata": {
                    "namespace": "customapp",
                    "name": "mssql-c",
                    "labels": {"tier": "db"},
                    "annotations": {"owner": "ana"},
                }
            },
        ),
        "VirtualMachineInstanceMigration": (
            {"metadata": {"name": "a"}, "status": {"phase": "Running"}},
            {"metadata": {"name": "b"}, "status": {"phase": "Succeeded"}},
        ),
    },
)
INTENTS: Mapping[IntentRef, Any] = {
    REQUEST: {"reason": "Maintenance", "vms": {"names": ["mssql-c"]}},
    RULE: {"enforcement": "Required"},
}


def verdict(policy: str, *, plan: PlacementPlan = PLAN, **more: Any) -> Verdict:
    default = {path: text for path, text in SHIPPED.items() if pack_of(path) == "default"}
    policies, findings = read_policies({"p.yaml": policy} if policy else default)
    assert findings == ()
    problem = PlacementProblem(cluster="iberia", now=STARTS, snapshot=SNAPSHOT)
    arguments = {"intents": INTENTS, "now": STARTS, **more}
    return judge(plan=plan, problem=problem, policies=policies, **arguments)


def policy(over: str, expression: str, *, actions: str = "Deny", more: str = "") -> str:
    return f"""\
apiVersion: placement.gitbot.dev/v1alpha1
kind: PlacementPolicy
metadata:
  name: tried
spec:
  over: {over}
{more}  validations:
  - expression: "{expression}"
    message: refused
  validationActions: [{actions}]
"""


@pytest.mark.parametrize(
    ("over", "expression"),
    [
        ("Plan", "plan.cluster == 'iberia' && size(plan.moves) == 2"),
        ("Plan", "plan.requests[0].moves == 2 && plan.largestWave == 1"),
        ("Plan", "plan.estimatedSeconds == 600 && plan.holds[0].code == 'no-feasible-node'"),
        ("Plan", "plan.rules.all(r, r.after <= r.before)"),
        ("Plan", "cluster.runningMigrations == 1 && cluster.snapshotAgeSeconds == 60"),
        ("Plan", "now == timestamp('2025-12-05T21:00:00Z')"),
        ("Move", "move.starts == '' && move.after == null && !move.afterReturn"),
        ("Plan", "plan.minimised[2].amount == 2 && plan.drains[0].kept == ['n3']"),
        ("Move", "move.wave == 1 || vm.labels['tier'] == 'db'"),
        ("Move", "move.wave == 1 || vm.annotations['owner'] == 'ana' && vm.node == 'kni-worker6'"),
        ("Move", "move.wave == 1 || node.labels['performance'] == 'high'"),
        ("Move", "move.wave == 1 || node.zone == 'scu' && node.taints[0].key == 'a'"),
        ("Move", "intent.spec.reason == 'Maintenance' && move.id <= 2"),
        ("Intent", "intent.kind != 'ZoneAntiAffinity' || intent.spec.enforcement == 'Required'"),
    ],
)
def test_expressions_see_what_is_published(over: str, expression: str) -> None:
    assert verdict(policy(over, expression)) == Verdict()


@pytest.mark.parametrize(
    ("actions", "severities"),
    [
        ("Deny", [Severity.ERROR]),
        ("Warn", [Severity.WARNING]),
        ("Audit", [Severity.NOTE]),
        ("Warn, Audit", [Severity.WARNING, Severity.NOTE]),
    ],
)
def test_actions_are_severities(actions: str, severities: list[Severity]) -> None:
    made = verdict(policy("Plan", "1 == 2", actions=actions))
    assert [finding.severity for finding in made.findings] == sorted(severities)
    assert made.denied is (actions == "Deny")


def test_a_failed_move_points_at_its_intent() -> None:
    (finding,) = verdict(policy("Move", "move.wave == 0")).findings
    assert str(finding) == (
        "intents/iberia/requests.yaml:12: customapp/mssql-d: refused; policy tried in p.yaml"
    )
    assert finding.code == "policy/tried"


def test_no_answer_denies_whatever_the_actions() -> None:
    (finding,) = verdict(policy("Plan", "plan.moves[9].id == 1", actions="Audit")).findings
    assert finding.severity is Severity.ERROR
    assert "gave no answer" in finding.message


CONDITIONS = """\
  matchConditions:
  - name: first
    expression: "{}"
  - name: second
    expression: "{}"
"""


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("true", "true", "refused"),
        ("true", "false", None),
        ("plan.moves[9].id == 1", "false", None),
        ("plan.moves[9].id == 1", "true", "a match condition gave no answer"),
    ],
)
def test_match_conditions(first: str, second: str, expected: str | None) -> None:
    more = CONDITIONS.format(first, second)
    made = verdict(policy("Plan", "false", more=more))
    messages = [finding.message for finding in made.findings]
    assert len(messages) == (expected is not None)
    assert all(message.startswith(expected or "") for message in messages)


def test_variables_are_lazy_and_may_use_earlier_ones() -> None:
    more = """\
  variables:
  - name: broken
    expression: plan.moves[9].id
  - name: count
    expression: size(plan.moves)
  - name: twice
    expression: variables.count * 2
"""
    assert verdict(policy("Plan", "variables.twice == 4", more=more)) == Verdict()
    (finding,) = verdict(policy("Plan", "variables.broken == 4", more=more)).findings
    assert "gave no answer" in finding.message


def test_message_expression_falls_back_to_the_message() -> None:
    text = policy("Plan", "false").replace(
        "    message: refused\n",
        "    message: plain\n    messageExpression: \"'%d'.format([plan.moves[9].id])\"\n",
    )
    assert [finding.message for finding in verdict(text).findings] == ["plain"]


def test_the_shipped_pack_lets_a_small_plan_pass_and_stops_an_old_snapshot() -> None:
    assert verdict("") == Verdict()
    made = verdict("", now=STARTS + 86_400)
    assert [finding.code for finding in made.findings] == ["policy/snapshot-age"]
    assert verdict("", now=STARTS + 86_400, snapshot_max_age=90_000) == Verdict()


def test_four_thousand_moves_are_judged_one_by_one() -> None:
    moves = tuple(
        replace(PLAN.moves[0], id=number, request=RequestId.read(f"drain/w/{number % 9}"))
        for number in range(1, 4001)
    )
    made = verdict("", plan=replace(PLAN, moves=moves))
    assert [finding.code for finding in made.findings] == ["policy/migration-slots"]


@pytest.mark.parametrize(("limit", "denied"), [(12, True), (13, False)])
def test_pressure_can_be_a_hard_stop(limit: int, denied: bool) -> None:
    target = PLAN.moves[0].to.node
    value = LoadValue(node=target, metric="cpuPressure", amount=1201, time=STARTS, source="test")
    problem = PlacementProblem(
        cluster="iberia", now=STARTS, snapshot=SNAPSHOT, load=ClusterLoad(values=(value,))
    )
    text = policy("Move", f"!('cpuPressure' in node.load) || node.load['cpuPressure'] <= {limit}")
    policies, findings = read_policies({"p.yaml": text})
    assert findings == ()
    found = judge(plan=PLAN, problem=problem, policies=policies, intents=INTENTS, now=STARTS)
    assert bool(found.findings) == denied
    assert verdict(text).findings == ()  # what was not measured denies nothing


@pytest.mark.parametrize(
    ("variables", "expression", "message", "said"),
    [
        ({"at": "now + duration('1h')"}, "variables.at < now", "string(variables.at - now)",
         "3600s"),
        ({"wait": "duration('90m')", "most": "2", "twice": "variables.wait + variables.wait"},
         "variables.twice > duration('4h') || variables.most == 3",
         "'%s of %s'.format([variables.twice, variables.most])", "10800s of 2"),
        ({"tier": "vm.labels[?'tier']"}, "variables.tier.orValue('db') != 'db'",
         "string(variables.tier.orValue('?'))", "db"),
        ({"two": "2u", "kind": "type(vm)"}, "variables.two + 1u == 4u",
         "string(variables.kind == map)", "true"),
        ({"times": "[now]"}, "variables.times.all(t, t < now)",
         "string(variables.times[0] == now)", "true"),
    ],
)  # fmt: skip
def test_variables_hold_times_types_and_optional_values(
    variables: Mapping[str, str], expression: str, message: str, said: str
) -> None:
    named = [f'  - {{name: {name}, expression: "{text}"}}\n' for name, text in variables.items()]
    text = policy("Move", expression, more=f"  variables:\n{''.join(named)}")
    text = text.replace("message: refused", f'messageExpression: "{message}"')
    found = [finding.message.partition(": ")[2] for finding in verdict(text).findings]
    assert said in found
    assert not any("gave no answer" in each for each in found)


@pytest.mark.parametrize(
    ("expression", "wrong"), [("variables.next > 9", 8), ("variables[vm.name] == 1", 30)]
)
def test_many_unlike_moves_are_judged_as_each_alone(expression: str, wrong: int) -> None:
    first = PLAN.moves[0]
    moves = tuple(
        replace(first, id=number, vm=replace(first.vm, name=f"vm-{number}"))
        for number in range(1, 31)
    )
    more = """  variables:
  - {name: at, expression: move.id}
  - {name: next, expression: variables.at + 1}
"""
    found = verdict(policy("Move", expression, more=more), plan=replace(PLAN, moves=moves))
    assert len(found.findings) == wrong
