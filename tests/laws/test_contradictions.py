"""A planner that contradicts itself, through the real commands: no exit code 3, a lawful plan."""

import importlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.depth import some_at_merge
from tests.doubles.problems import node, vm
from tests.laws.mornings import API, NOW, Morning, morning
from tests.laws.mornings_bugs import bug, copied
from tests.laws.mornings_checker import faults
from tests.torture.seeded import Bug, planted


def asked(name: str, *vms: str) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "MigrationRequest",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"vms": {"names": list(vms)}, "pin": "Node"},
    }


WINDOW = {
    "apiVersion": API,
    "kind": "MaintenanceWindow",
    "metadata": {"name": "fw"},
    "spec": {"nodes": {"names": ["n2"]}, "drain": {"cordon": "Gitbot"}},
}
PLACES = (("v0", "n0"), ("v1", "n1"), ("v2", "n2"), ("v3", "n2"))
CALM = Morning(
    nodes=tuple(node(f"n{number}", memory="16Gi") for number in range(5)),
    vms=tuple(vm(name, on=host, memory="2Gi") for name, host in PLACES),
    strangers=(),
    limits={},
    intents=(asked("first", "v0"), asked("second", "v1"), WINDOW),
)
INTERNAL = "plan/internal"
COMMANDS = (
    ("plan", "-o", "json"),
    ("plan",),
    ("check",),
    ("render",),
    ("simulate", "drain", "n2"),
)


def answers(
    tree: Path, folder: Path, commands: Sequence[Sequence[str]] = COMMANDS
) -> dict[str, tuple[int, str]]:
    """Exit code and text of each command, of the gitbot in `tree`, in a repository."""
    words = f"from tests.laws.test_contradictions import say; say({commands!r})"
    ran = subprocess.run(
        [sys.executable, "-B", "-c", words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, tuple[int, str]] = json.loads(ran.stdout)
    return found


def say(commands: Sequence[Sequence[str]]) -> None:
    from tests.unit.cli.desk import typed  # noqa: PLC0415 - in the folder with the bug

    said = {
        " ".join(words): typed(*words, "--snapshot", "cluster.yaml", "--now", NOW)
        for words in commands
    }
    print(json.dumps({words: (each.code, each.text) for words, each in said.items()}))


@contextmanager
def broken(tree: Path, each: Bug) -> Iterator[None]:
    texts = planted(each, tree / "gitbot")
    whole = {path: path.read_text("utf-8") for path in texts}
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    yield
    for path, text in whole.items():
        path.write_text(text, "utf-8")


NOWHERE = bug(
    "a start from nowhere", 0, "planner/state/plan_state.py",
    "        self.transit.move(step.vm, step.node)\n",
    "        self.transit.move(step.vm, step.source if step.vm.name == 'v0' else step.node)\n",
)  # fmt: skip
REFUTED = bug(
    "a refuted move", 0, "planner/assemble.py",
    "allowed_nodes=step.landings,",
    "allowed_nodes=step.landings if step.vm.name != 'v0' else (),",
)  # fmt: skip
GOAL = bug(
    "an assertion of a goal", 0, "planner/goals/move.py",
    "    owners: dict[NamespacedName, MoveVms] = {}\n",
    "    owners: dict[NamespacedName, MoveVms] = {}\n"
    "    assert all(goal.request.intent.name != 'first' for goal in goals)\n",
)  # fmt: skip
PLANNER = bug(
    "no plan at all", 0, "planner/problem_index.py",
    "        snapshot = problem.snapshot\n",
    "        snapshot = problem.snapshot\n        raise KeyError(snapshot)\n",
)  # fmt: skip
AROUND = bug(
    "no world at all", 0, "constraints/scheduler/counting_multimap.py",
    "    def add(self, key: K, item: I, count: int = 1) -> None:\n",
    "    def add(self, key: K, item: I, count: int = 1) -> None:\n        assert not key\n",
)  # fmt: skip


DRAINED = bug(
    "a drained VM", 0, "planner/state/plan_state.py",
    "        self.transit.move(step.vm, step.node)\n",
    "        assert step.vm.name != 'v2'\n        self.transit.move(step.vm, step.node)\n",
)  # fmt: skip


@pytest.fixture(scope="module")
def tree() -> Iterator[Path]:
    with copied() as folder:
        yield folder


@pytest.fixture(scope="module")
def rest(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, str]]:
    """The moves of a sound gitbot that is not asked the first request."""
    folder = tmp_path_factory.mktemp("rest")
    replace(CALM, intents=CALM.intents[1:]).write(folder)
    return moves_of(answers(tree, folder, COMMANDS[:1])["plan -o json"][1])


def moves_of(text: str) -> list[tuple[str, str, str]]:
    moves = json.loads(text[text.index("{") : text.rindex("}") + 1])["moves"]
    return [(move["vm"]["name"], move["from"]["node"], move["to"]["node"]) for move in moves]


@pytest.mark.parametrize("each", [NOWHERE, REFUTED, GOAL], ids=lambda each: each.name)
@pytest.mark.timeout(240)
def test_a_contradiction_about_one_request_leaves_the_others_as_they_are(
    tree: Path, tmp_path: Path, rest: list[tuple[str, str, str]], each: Bug
) -> None:
    CALM.write(tmp_path)
    with broken(tree, each):
        found = answers(tree, tmp_path)
    assert found.pop("simulate drain n2")[0] == 0
    for code, text in found.values():
        assert code == 1, text
        assert INTERNAL in text
        assert "report it with this line: gitbot " in text
    assert moves_of(found["plan -o json"][1]) == rest


@pytest.mark.timeout(240)
def test_a_contradiction_about_a_drained_vm_keeps_its_node_in_service(
    tree: Path, tmp_path: Path
) -> None:
    CALM.write(tmp_path)
    with broken(tree, DRAINED):
        found = answers(tree, tmp_path)
    assert {code for code, _ in found.values()} == {1}
    assert all(INTERNAL in text for _, text in found.values())
    assert {name for name, *_ in moves_of(found["plan -o json"][1])} == {"v0", "v1"}


@pytest.mark.parametrize("each", [PLANNER, AROUND], ids=lambda each: each.name)
@pytest.mark.timeout(240)
def test_what_cannot_be_planned_at_all_is_never_clean(
    tree: Path, tmp_path: Path, each: Bug
) -> None:
    CALM.write(tmp_path)
    with broken(tree, each):
        found = answers(tree, tmp_path)
    for words, (code, text) in found.items():
        assert (words, code) == (words, 1), text
        assert "plan/internal" in text


QUESTIONS = (
    ("simulate", "lose", "n2"),
    ("simulate", "lose", "n2", "-o", "json"),
    ("simulate", "grow", "v0"),
    ("simulate", "survive"),
    ("simulate", "label", "n1", "zone=a"),
    ("simulate", "rule", "rule.yaml"),
    ("simulate", "reboot"),
    ("audit",),
    ("audit", "--rule", "audit/pin"),
    ("explain", "v0"),
    ("explain", "--request", "default/first"),
    ("explain", "--window", "fw"),
)
RULE = f"""apiVersion: {API}
kind: ZoneAntiAffinity
metadata: {{name: apart, namespace: default}}
spec: {{selector: {{matchLabels: {{app: web}}}}}}
"""


@pytest.mark.timeout(240)
def test_a_contradiction_in_an_answer_is_a_line_to_report(tree: Path, tmp_path: Path) -> None:
    CALM.write(tmp_path)
    (tmp_path / "rule.yaml").write_text(RULE)
    whole = answers(tree, tmp_path, QUESTIONS)
    assert {words for words, (code, _) in whole.items() if code not in (0, 1)} == set()
    with broken(tree, AROUND):
        found = answers(tree, tmp_path, QUESTIONS)
    for words, (code, text) in found.items():
        assert (words, code) == (words, 1), text
        assert "a fault of gitbot: it" in text
        assert "report it with this line: gitbot " in text
        assert "Traceback" not in text
    assert INTERNAL not in "".join(text for _, text in whole.values())


@pytest.mark.timeout(240)
def test_a_contradiction_of_the_planner_ends_explain_with_1(tree: Path, tmp_path: Path) -> None:
    CALM.write(tmp_path)
    with broken(tree, PLANNER):
        found = answers(tree, tmp_path, QUESTIONS[-3:])
    for words, (code, text) in found.items():
        assert (words, code) == (words, 1), text
        assert "report it with this line: gitbot " in text


POINTS: tuple[tuple[str, str], ...] = (
    ("constraints.moves.migration_state.MigrationState", "_leaving"),
    ("planner.state.plan_state.PlanState", "asked"),
    ("planner.state.plan_state.PlanState", "step"),
    ("planner.state.plan_state.PlanState", "take"),
    ("planner.state.plan_state.PlanState", "launch"),
    ("planner.state.plan_state.PlanState", "finish"),
    ("planner.schedule.schedule._Clock", "_starts"),
    ("planner.schedule.schedule._Clock", "_land"),
    ("planner.assemble", "_move"),
    ("planner.assemble", "_rules"),
    ("planner.problem_index.ProblemIndex", "copy"),
    ("planner.problem_index.ProblemIndex", "rules_over"),
    ("planner.proofs.capacity_model.CapacityModel", "__init__"),
    ("planner.move_groups", "_judged"),
    ("planner.remedies", "_told"),
    ("planner.goals.heal", "_rule"),
    ("constraints.replay.replay._Player", "move"),
    ("constraints.scheduler.counting_multimap.Buckets", "add"),
    ("constraints.scheduler.counting_multimap.Buckets", "remove"),
)
KINDS = (AssertionError, KeyError, RuntimeError, IndexError, RecursionError)


def random_raise(draw: random.Random, patch: pytest.MonkeyPatch) -> None:
    """Some function of the planner raises at a call of it, or from that call on."""
    owner, name = draw.choice(POINTS)
    path, _, last = f"gitbot.{owner}".rpartition(".")
    at = getattr(importlib.import_module(path), last)
    whole: Callable[..., Any] = getattr(at, name)
    calls, always, kind = (
        draw.choice((0, 1, 3, 10, 40, 100)),
        draw.random() < 0.5,
        draw.choice(KINDS),
    )
    seen = 0

    def planted(*args: Any, **named: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == calls + 1 or (always and seen > calls):
            raise kind("planted")
        return whole(*args, **named)

    patch.setattr(at, name, planted)


def unlawful(seed: int) -> list[str]:
    """What is wrong only with a plan in which something raised, but for what says that it did."""
    case = morning(seed, most=8)
    with pytest.MonkeyPatch.context() as patch:
        random_raise(random.Random(seed), patch)
        found = [fault for fault in faults(case) if "internal" not in fault]
    known = faults(case) if found else []
    return [f"{seed}: {fault}" for fault in found if fault not in known]


def test_a_plan_in_which_something_raised_is_lawful() -> None:
    assert [fault for seed in range(12) for fault in unlawful(seed)] == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", some_at_merge(range(100, 500, 50), 4))
def test_many_plans_in_which_something_raised_are_lawful(first: int) -> None:
    assert [fault for seed in range(first, first + 50) for fault in unlawful(seed)] == []
