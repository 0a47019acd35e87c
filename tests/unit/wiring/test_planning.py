"""Plans come from a process with limits, and are those that this one makes."""

import operator
import os
import pickle
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.sandbox.worker_process import EndedError, LimitedProcess
from gitbot.errors import LimitExceeded, UserInterrupt
from gitbot.model.plan.plan import PlacementPlan
from gitbot.model.plan.problem import HealRule, PlacementProblem
from gitbot.model.progress import PlanningProgress
from gitbot.planner import make_plan
from gitbot.reports.own_templates import TemplateFault, TextQuestion
from gitbot.wiring import plan_worker
from gitbot.wiring.plan_worker import (
    ANSWER,
    MEMORY,
    PlanningFailure,
    plan_apart,
    plan_problem_apart,
    read_answer,
    read_apart,
    render_apart,
    the_process,
)
from gitbot.workflows.check import ClusterScope, Planned, publish
from gitbot.workflows.propose import propose
from tests.doubles import canaries
from tests.doubles.endless import endless
from tests.doubles.intents import REQUEST, RULE
from tests.doubles.problems import node, problem, vm
from tests.unit.planner.reading import move
from tests.unit.workflows.story import Story


class Does:
    """A question that makes the process do something instead of planning."""

    def __init__(self, what: Any, *arguments: Any) -> None:
        self.what, self.arguments = what, arguments

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return self.what, self.arguments


@pytest.fixture
def process() -> Iterator[LimitedProcess]:
    made = LimitedProcess(
        "gitbot.wiring.plan_worker", seconds=1, memory=MEMORY, answer=ANSWER, wait=60
    )
    yield made
    made.close()


def test_it_makes_the_plan_and_the_previews_of_this_process() -> None:
    found = []
    for where in (None, plan_apart):
        story = Story.begin()
        story.open(jump=REQUEST, rule=RULE)
        found.append(publish(replace(story.shell, planning=where), number=1))
    here, apart = found
    assert here.digest == apart.digest != ""
    assert here.check.previews == apart.check.previews != ()
    assert here.check.diff == apart.check.diff
    assert the_process().started is not None


def test_it_has_no_variable_of_ours_no_connection_and_no_program(
    process: LimitedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = canaries.plant("ghp_canaryofplans0001")
    monkeypatch.setenv("GITHUB_TOKEN", token)
    for does in (Does(socket.socket), Does(os.execv, "/bin/true", ["true"])):
        told = read_answer(process.ask(pickle.dumps(does)))
        assert "Operation not permitted" in told.text
    assert process.started is not None
    environment = Path(f"/proc/{process.started.pid}/environ").read_bytes()
    assert token.encode() not in environment
    assert {entry.split(b"=")[0] for entry in environment.split(b"\0") if entry} <= {
        b"PYTHONPATH",
        b"LC_ALL",
    }


def test_too_much_memory_is_told_and_too_much_time_ends_it(process: LimitedProcess) -> None:
    told = read_answer(process.ask(pickle.dumps(Does(bytearray, MEMORY * 2**20))))
    assert told == PlanningFailure(memory=True)
    with pytest.raises(EndedError, match="more than 1 s of processor time") as ended:
        process.ask(pickle.dumps(Does(sum, range(10**12))))
    assert ended.value.slow


def test_what_exceeds_its_memory_is_a_finding_and_the_next_is_planned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    story.open(jump=REQUEST)
    shell = replace(story.shell, planning=plan_apart)
    with monkeypatch.context() as patched:
        bomb = Does(bytearray, MEMORY * 2**20)
        patched.setattr(plan_worker, "_without_policies", lambda _: bomb)
        outcome = publish(shell, number=1).check
    (finding,) = outcome.findings
    assert finding.code == "check/too-large"
    assert f"it may use {MEMORY} MiB" in finding.message.replace("its process", "it")
    assert publish(shell, number=1).check.judged is not None


class Stops:
    """Somebody who asks to end as soon as it began."""

    began = False

    def begins(self, stage: str) -> None:
        self.began = stage == "planning"

    def planned(self, moves: int) -> None:
        del moves

    def stopped(self) -> bool:
        return self.began


def test_it_ends_when_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that runs answers with what it has; the rest of the wait is over."""
    story = Story.begin()
    story.open(jump=REQUEST)
    publish(replace(story.shell, planning=plan_apart), number=1)
    bare = plan_worker._without_policies

    def paused(scope: ClusterScope) -> Any:
        """In the process: waits for a signal, and is the scope."""
        return Does(operator.getitem, (Does(signal.pause), bare(scope)), 1)

    monkeypatch.setattr(plan_worker, "_without_policies", paused)

    def stopped(scope: ClusterScope, onlooker: PlanningProgress) -> Planned:
        del onlooker
        return plan_apart(scope, Stops())

    outcome = publish(replace(story.shell, planning=stopped), number=1).check
    assert outcome.judged is not None


@pytest.fixture
def stoppable(monkeypatch: pytest.MonkeyPatch) -> Iterator[LimitedProcess]:
    """A process that has a second to answer once it is told to stop."""
    made = LimitedProcess(
        "gitbot.wiring.plan_worker", seconds=60, memory=MEMORY, answer=ANSWER, wait=60, grace=1
    )
    monkeypatch.setattr(plan_worker, "the_process", lambda: made)
    yield made
    made.close()


def never(monkeypatch: pytest.MonkeyPatch) -> Callable[[], bool]:
    """The next problem is an endless loop; the function is true once the process runs it."""
    monkeypatch.setattr(plan_worker, "_question", lambda *_: Does(endless))
    begin = time.monotonic()
    return lambda: time.monotonic() > begin + 2


MOVES = problem([node("n1"), node("n2"), vm("db", on="n1")], goals=[move("db")])


def test_problem_gets_the_plan_of_this_process_and_its_snapshot_goes_there_once(
    stoppable: LimitedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    ask = stoppable.ask

    def counted(question: bytes, stopped: Callable[[], bool]) -> bytes:
        sent.append(len(question))
        return ask(question, stopped)

    monkeypatch.setattr(stoppable, "ask", counted)
    other = replace(MOVES, now=MOVES.now + 60)
    for case in (MOVES, other, MOVES):
        assert plan_problem_apart(case, lambda: False, 60) == make_plan(case)
    assert sent[0] > sent[1] == sent[2]
    stoppable.close()
    assert plan_problem_apart(MOVES, lambda: False, 60) == make_plan(MOVES)
    assert sent[3] > sent[2]  # the snapshot again; what the first plan cached goes along


def test_planner_that_never_returns_is_killed_at_its_deadline(
    stoppable: LimitedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        never(patched)
        with pytest.raises(LimitExceeded, match="planning took longer than 2 s"):
            plan_problem_apart(MOVES, lambda: False, 2)
    assert stoppable.started is None
    assert plan_problem_apart(MOVES, lambda: False, 60) == make_plan(MOVES)


def test_planner_that_never_returns_is_killed_soon_after_a_request_to_stop(
    stoppable: LimitedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_problem_apart(MOVES, lambda: False, 60)  # so that it runs and takes signals
    stopped, begin = never(monkeypatch), time.monotonic()
    with pytest.raises(UserInterrupt, match="no answer within 1 s of the request to stop"):
        plan_problem_apart(MOVES, stopped, 60)
    assert time.monotonic() < begin + 30  # of 60 for an answer
    assert stoppable.started is None


def test_second_signal_kills_the_process_at_once(
    stoppable: LimitedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = never(monkeypatch)
    asked: list[float] = []

    def twice() -> bool:
        """As a signal handler that interrupts the wait."""
        if stopped():
            asked.append(time.monotonic())
        if len(asked) == 2:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt):
        plan_problem_apart(MOVES, twice, 60)
    assert stoppable.started is None


def test_pass_goes_on_when_the_planner_of_one_concern_never_returns(
    stoppable: LimitedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Story.begin(rule=RULE, jump=REQUEST)
    question = plan_worker._question

    def heals(case: PlacementProblem) -> bool:
        return any(isinstance(goal, HealRule) for goal in case.goals)

    def planted(case: PlacementProblem) -> object:
        return Does(endless) if heals(case) else question(case)

    def soon(case: PlacementProblem, stopped: Callable[[], bool], seconds: int) -> PlacementPlan:
        return plan_problem_apart(case, stopped, 2 if heals(case) else seconds)

    monkeypatch.setattr(plan_worker, "_question", planted)
    found = propose(replace(story.shell, plan_apart=soon)).concerns
    assert {item.concern: item.action for item in found} == {
        "heal-zoneantiaffinity-customapp-mssql2016": "waiting",
        "request-customapp-jump": "opened",
    }
    assert stoppable.started is not None


def test_nothing_is_compiled_here_before_the_process_has_done_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """12,000 rules that each select 5,000 VMs took gigabytes here, where nothing limits them."""

    def compiled_here(*_: object, **__: object) -> None:
        raise AssertionError

    story = Story.begin()
    story.open(rule=RULE)
    monkeypatch.setattr(plan_worker, "_without_policies", lambda _: Does(os._exit, 1))
    monkeypatch.setattr("gitbot.workflows.check.scope.compile_rules", compiled_here)
    found = publish(replace(story.shell, planning=plan_apart), number=1).check.findings
    assert [each.code for each in found] == ["check/too-large"]


def test_nothing_is_read_here_before_the_process_has_done_it(
    process: LimitedProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What would end a reader, or take its memory, ends a process with limits."""

    def read_here(*_: object) -> None:
        raise AssertionError

    story = Story.begin()
    story.open(rule=RULE)
    shell = replace(story.shell, planning=plan_apart, reading=read_apart)
    with monkeypatch.context() as patched:
        patched.setattr(plan_worker, "read_change", read_here)
        patched.setattr(plan_worker, "the_process", lambda: process)
        for bomb in (Does(os._exit, 1), Does(bytearray, MEMORY * 2**20), Does(sum, range(10**12))):
            patched.setattr(plan_worker, "_bare", lambda _, bomb=bomb: bomb)
            (finding,) = publish(shell, number=1).check.findings
            assert finding.code == "check/too-large"
    assert publish(shell, number=1).check.judged is not None


@pytest.mark.parametrize("answer", [Does(os.getcwd), Does(eval, "1"), Does(getattr, str, "join")])
def test_an_answer_is_values_of_gitbot_and_nothing_else(answer: Does) -> None:
    with pytest.raises(LimitExceeded, match="its answer"):
        read_answer(pickle.dumps(answer))


ENDLESS = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"


def test_a_template_is_rendered_with_limits(stoppable: LimitedProcess) -> None:
    greedy = "{{ 'x' * 9999999999 }}"
    for template, said in ((greedy, "out of memory"), (ENDLESS, "longer than 2 s")):
        fault = render_apart(TextQuestion(template=template, values={}))
        assert isinstance(fault, TemplateFault)
        assert said in fault.message
    question = TextQuestion(template="{{ a }} {{ n + 1 }}", values={"a": "é", "n": 1})
    assert render_apart(question) == "é 2"
    assert stoppable.started is not None
