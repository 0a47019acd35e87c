"""A kind of intent, and a goal, that only this file defines: every command takes them.

This is all that a new kind needs: a spec, a `Kind`, and a line in `KINDS`. It forbids VMs to share
a node with a label, has a schedule, and asks to move VMs by a goal of its own.
"""

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
from click.shell_completion import ShellComplete

from gitbot.calendar import Appointment, Occurrence
from gitbot.cli.main import cli
from gitbot.constraints.moves.instances import Instances
from gitbot.constraints.rules.zone_anti_affinity import select_vms
from gitbot.documents import Report
from gitbot.documents.fields import Value
from gitbot.intents import IntentSet, ScheduleSpec
from gitbot.intents.intent import Intent
from gitbot.intents.kinds.kind import (
    AgendaView,
    CompiledGoals,
    CompiledRules,
    GoalInputs,
    Healing,
    Kind,
    Role,
    ScheduledEntries,
    VmSelector,
)
from gitbot.intents.registry import KINDS, document_schema
from gitbot.intents.rule_cluster import RuleCluster
from gitbot.intents.selectors import LabelSelector, check_selector
from gitbot.kubernetes.names import NamespacedName
from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.model.plan.constraint import Breach, NoMaximum, Occupancy
from gitbot.model.plan.problem import Goal, MoveVms, Pin, Request, Target
from gitbot.model.text.names import IntentRef
from gitbot.planner import make_plan
from gitbot.planner.goals.goal_planner import GoalPlanner, PullTitle
from gitbot.planner.goals.move import move_vms
from gitbot.planner.goals.registry import GOALS
from gitbot.planner.holds import Late
from gitbot.planner.plan_types import Closed, Draft
from gitbot.planner.state.plan_state import PlanState
from tests.doubles.intents import HEAD
from tests.unit.cli.desk import at_desk, gitbot
from tests.unit.intents.compile_scene import small_cluster
from tests.unit.intents.field_table import field_table

PACKAGE = Path(__file__).parents[3] / "gitbot"
NOON = "2026-12-06T21:00:00Z"


class QuietNodeSpec(Value):
    """The selected VMs stay off one node."""

    selector: LabelSelector
    node: str
    schedule: ScheduleSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffNode(NoMaximum):
    ref: IntentRef
    members: frozenset[NamespacedName]
    node: str
    required: bool = True
    parts: ClassVar[tuple[object, ...]] = ()

    def breaches(self, occupancy: Occupancy) -> tuple[Breach, ...]:
        there = sorted(vm for vm in self.members if self.node in occupancy.get(vm, ()))
        return tuple(
            Breach(rule=self.ref, key=str(vm), amount=1, message=f"{vm.name} is noisy", vms=(vm,))
            for vm in there
        )

    def explain(self, vm: NamespacedName, node: str, _occupancy: Occupancy) -> str:
        return "it is quiet there" if vm in self.members and node == self.node else ""


def check(report: Report) -> None:
    check_selector(report, ("spec", "selector"))


def selectors(intent: Intent, spec: QuietNodeSpec) -> Iterator[VmSelector]:
    own = (intent.ref.namespace,)
    yield VmSelector(path=("spec", "selector"), selector=spec.selector, namespaces=own)


def entries(agenda: AgendaView, intent: Intent, spec: QuietNodeSpec) -> ScheduledEntries:
    def entry(occurrence: Occurrence | None) -> Appointment:
        event = agenda.event(intent, "freeze", spec.schedule, occurrence)
        return replace(event, what=f"quiet on {spec.node}")

    return ScheduledEntries(schedule=spec.schedule, entry=entry)


def rules(intent: Intent, spec: QuietNodeSpec, cluster: RuleCluster) -> CompiledRules:
    members = select_vms(cluster.instances, intent.ref.namespace, spec.selector.plain())
    return CompiledRules(rules=(OffNode(ref=intent.ref, members=members, node=spec.node),))


QUIET = Kind(
    name="QuietNode",
    spec=QuietNodeSpec,
    namespaced=True,
    role=Role.RULE,
    check=check,
    description="A standing rule: the selected VMs stay off one node.",
    example="apiVersion: API_VERSION\nkind: QuietNode\nmetadata: {name: example-quiet, "
    "namespace: example}\nspec: {selector: {matchLabels: {app: noisy}}, node: n1}\n",
    selectors=selectors,
    healing=lambda _spec: Healing(heal="Propose", required=True),
    entries=entries,
    rules=rules,
)


class VisitSpec(Value):
    """One VM goes to one node, once."""

    vm: str
    node: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit(Goal):
    vm: NamespacedName
    node: str

    @property
    def named(self) -> Sequence[NamespacedName]:
        return (self.vm,)


def draft(
    board: PlanState, goals: Sequence[Visit], closed: Closed, late: Late, _wide: bool
) -> Draft:
    """A visit drafts as a move does."""
    goal = goals[0]
    move = MoveVms(
        request=goal.request, vms=(goal.vm,), target=Target(nodes=(goal.node,)), pin=Pin.NODE
    )
    return move_vms(board, [move], closed, late)


def title(goal: Visit, pull: PullTitle) -> str:
    return f"Visit {goal.node}: {pull.amount}"


VISITS = GoalPlanner(goal=Visit, draft=draft, title=title)


def goals(intents: IntentSet, _instances: Instances, asked: GoalInputs) -> CompiledGoals:
    found = []
    for intent, spec in intents.specs(VisitSpec):
        if asked.wanted(intent.ref):
            request = Request(id=MigrationRequestId.of(intent.ref), intent=intent.ref)
            vm = NamespacedName(namespace=intent.ref.namespace, name=spec.vm)
            found.append(Visit(request=request, vm=vm, node=spec.node))
    return tuple(found), ()


VISIT = Kind(
    name="Visit",
    spec=VisitSpec,
    namespaced=True,
    role=Role.REQUEST,
    check=lambda _report: None,
    description="A visit of one VM to one node.",
    goals=goals,
)

FILES: Mapping[str, str] = {
    ".gitbot.yaml": "apiVersion: placement.gitbot.dev/v1alpha1\nkind: Configuration\n"
    "spec: {clusters: [{name: prod, timeZone: UTC}]}\n",
    "intents/prod/quiet.yaml": """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: QuietNode
metadata: {name: hush, namespace: a}
spec:
  selector: {matchLabels: {tier: web}}
  node: n2
  schedule: {start: "2026-12-07T08:00", duration: PT4H}
""",
    "intents/prod/visit.yaml": """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Visit
metadata: {name: over, namespace: b}
spec: {vm: other, node: n1}
""",
}


QUIET_JUMPBOX = f"""{HEAD}kind: QuietNode
metadata: {{name: hush, namespace: customapp}}
spec:
  selector: {{matchLabels: {{kubevirt.io/domain: jumpbox}}}}
  node: kni-worker
"""


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working tree with both kinds registered, and a cluster as plain objects."""
    monkeypatch.setitem(KINDS, QUIET.name, QUIET)
    monkeypatch.setitem(KINDS, VISIT.name, VISIT)
    monkeypatch.setitem(GOALS, Visit, VISITS)
    document_schema.cache_clear()  # of a proposal, which lists the kinds
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    objects = [
        each for item in small_cluster() for each in (item if isinstance(item, tuple) else (item,))
    ]
    (tmp_path / "cluster.yaml").write_text("\n---\n".join(map(json.dumps, objects)))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    document_schema.cache_clear()


def test_lint_takes_it_and_checks_it(tree: Path) -> None:
    assert gitbot("lint")[0] == 0
    path = tree / "intents/prod/quiet.yaml"
    path.write_text(path.read_text().replace("matchLabels: {tier: web}", ""))
    code, text = gitbot("lint")
    assert code == 1
    assert "intents/prod/quiet.yaml:5" in text


def test_schema_and_reference_table_come_from_the_spec() -> None:
    assert "QuietNode" in gitbot("schema")[1].splitlines()
    schema = json.loads(gitbot("schema", "QuietNode")[1])
    assert schema["properties"]["kind"]["const"] == "QuietNode"
    assert "| `node` (required) | text |" in field_table(schema)
    proposal = json.loads(gitbot("schema", "PlacementProposal")[1])
    assert "QuietNode" in proposal["$defs"]["ProposedIntent"]["properties"]["kind"]["enum"]


def test_tab_offers_it() -> None:
    shell = ShellComplete(cli, {}, "gitbot", "_GITBOT_COMPLETE")
    assert [item.value for item in shell.get_completions(["schema"], "Quiet")] == ["QuietNode"]


def test_init_writes_its_example(tree: Path) -> None:
    assert gitbot("init", str(tree / "new"))[0] == 0
    assert "kind: QuietNode" in (tree / "new/intents/prod/rules.yaml").read_text()
    assert "BalanceRule, QuietNode" in (tree / "new/README.md").read_text()


def test_calendar_shows_its_openings() -> None:
    text = gitbot("calendar", "--now", NOON)[1]
    assert "hush" in text
    assert "quiet on n2" in text


def test_plan_heals_its_rule_and_reaches_its_goal() -> None:
    code, text = gitbot(
        "plan", "--cluster", "prod", "--snapshot", "cluster.yaml", "--now", NOON, "-o", "json"
    )
    assert code == 0, text
    moves = [
        (move["request"], move["vm"]["name"], move["to"]["node"])
        for move in json.loads(text)["moves"]
    ]
    assert moves == [("heal/a/QuietNode/hush", "web", "n1"), ("request/b/over", "other", "n1")]


def test_get_lists_it_and_propose_heals_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The process for plans knows only the goals and rules that ship.
    here = lambda problem, stopped, seconds: make_plan(problem)  # noqa: E731, ARG005
    monkeypatch.setattr("gitbot.wiring.plan_worker.plan_problem_apart", here)
    with at_desk(tmp_path / "desk", monkeypatch) as desk:
        desk.commit(quiet=QUIET_JUMPBOX)
        listed = desk.gitbot("get", "rules")
        assert listed.out.split()[9:13] == ["QuietNode", "customapp", "hush", "broken"]
        proposed = desk.gitbot("propose").text
        assert "heal-quietnode-customapp-hush: opened" in proposed
        assert "Heal customapp/hush: move 1 VM" in proposed


def _asked_types(tree: ast.Module) -> Iterator[str]:
    """The names of types that a module asks for by isinstance or a pattern."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            yield from re.findall(r"\w+", ast.unparse(node.args[1]))
        elif isinstance(node, ast.MatchClass):
            yield ast.unparse(node.cls)


def test_no_module_asks_whether_a_rule_is_of_one_kind() -> None:
    rules = {kind.name for kind in KINDS.values() if kind.role is Role.RULE} - {QUIET.name}
    names = rules | {KINDS[name].spec.__name__ for name in rules}
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if names & {*_asked_types(ast.parse(path.read_text(encoding="utf-8")))}
    }
    assert found <= {"constraints/rules/zone_anti_affinity.py"}
