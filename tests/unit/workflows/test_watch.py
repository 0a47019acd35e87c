"""`reconcile --watch`: passes, rests, trouble, and the end."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import pytest

from gitbot.errors import Bug, ForgeError, GitbotError
from gitbot.execution.executor_types import Waiting
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import StopSet
from gitbot.model.ledger.ledger import HOLD_FILE
from gitbot.model.ledger.request_id import RequestId
from gitbot.reports.site import SiteDocuments
from gitbot.simulation.port import SimulatedPort
from gitbot.workflows.apply import ApplyResult
from gitbot.workflows.ask import documents_of_pass, site_documents
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.propose import PassView
from gitbot.workflows.watch import ReconcileResult, apply_and_report, reconcile, watch
from gitbot.workflows.watch.run import (
    LONGEST_REST,
    OnRest,
    is_quiet,
    next_turn,
    wait_for_next_pass,
)
from tests.doubles.intents import REQUEST, RULE
from tests.unit.workflows.story import Story, configuration


@dataclass
class Watched:
    """A watch over a story that ends after so many passes, or at an instant."""

    story: Story
    passes: int = 3
    ends_at: int = 0
    opened: int = 0
    failures: list[GitbotError] = field(default_factory=list)
    results: list[ReconcileResult] = field(default_factory=list)
    troubles: list[tuple[str, int]] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    on_rest: OnRest | None = None

    def over(self) -> bool:
        if self.ends_at and self.story.port.now() >= self.ends_at:
            return True
        return len(self.results) >= self.passes

    @contextmanager
    def opener(self) -> Iterator[RunContext]:
        self.opened += 1
        if self.failures:
            raise self.failures.pop(0)
        yield replace(self.story.shell, interrupted=self.over)

    def on_pass(self, result: ReconcileResult) -> None:
        self.times.append(self.story.port.now())
        self.results.append(result)

    def run(self, *, every: int = 300) -> None:
        watch(
            self.opener,
            clock=self.story.port,
            interrupted=self.over,
            every=every,
            on_pass=self.on_pass,
            on_trouble=lambda error, rest: self.troubles.append((str(error), rest)),
            on_rest=self.on_rest,
        )


class CountedCluster(SimulatedPort):
    """Counts the reads of the whole cluster."""

    reads = 0

    def snapshot(self) -> ClusterSnapshot:
        """Read, and count it."""
        self.reads += 1
        return super().snapshot()


@pytest.fixture
def story() -> Story:
    return Story.begin(db=RULE)


def test_it_rests_between_passes_and_opens_everything_once(story: Story) -> None:
    watched = Watched(story)
    watched.run(every=300)
    assert watched.opened == 1
    gaps = [
        later - earlier for earlier, later in zip(watched.times, watched.times[1:], strict=False)
    ]
    assert 0 < gaps[0] <= 300
    assert gaps[1] == 300
    assert all(result.did_nothing for result in watched.results[1:])


def test_everything_is_opened_again_every_hour_between_two_passes(story: Story) -> None:
    watched = Watched(story, passes=6)
    watched.run(every=1800)
    assert watched.opened == 3, "a mirror grows with every snapshot that is published"
    gaps = [
        later - earlier for earlier, later in zip(watched.times, watched.times[1:], strict=False)
    ]
    assert 0 < gaps[0] <= 1800
    assert gaps[1:] == [1800] * 4


@pytest.mark.parametrize(("until", "first"), [(0, False), (-5, False), (20, True), (900, False)])
def test_only_an_opening_to_come_ends_the_rest(story: Story, until: int, first: bool) -> None:
    began = story.port.now()
    turn = next_turn("iberia", began, every=300) - began
    assert 20 < turn <= 300
    rested = until if first else turn
    request = RequestId.read("request/db/one")
    until = began + until if until else 0  # 0: nobody knows when
    waits = Waiting(request=request, move=1, vm="db/one", reason="not now", until=until)
    wait_for_next_pass(story.shell, ApplyResult(waiting=(waits,)), every=300)
    assert story.port.now() - began == rested


@dataclass
class WritingClock:
    """The story's clock; while it first passes, another process writes a line to the ledger."""

    story: Story
    cluster: str
    written: bool = False

    def now(self) -> int:
        return self.story.port.now()

    def sleep(self, seconds: int, /) -> None:
        self.story.port.sleep(seconds)
        if not self.written:
            self.written = True
            line = StopSet(file=HOLD_FILE, time=self.now(), cluster=self.cluster, reason="x")
            self.story.store.append(self.story.store.read(), (line,), {})


@pytest.mark.parametrize(("cluster", "ends"), [("iberia", True), ("", True), ("dakar", False)])
def test_only_lines_about_the_cluster_end_the_rest(story: Story, cluster: str, ends: bool) -> None:
    began = story.port.now()
    turn = next_turn("iberia", began, every=3600)
    clock = WritingClock(story, cluster)
    wait_for_next_pass(replace(story.shell, clock=clock), ApplyResult(), every=3600)
    assert clock.written
    assert (story.port.now() < turn) is ends


def test_turns_of_a_cluster_are_one_interval_apart() -> None:
    turn = next_turn("prod", 1_764_547_224, every=300)
    assert 1_764_547_224 < turn <= 1_764_547_524
    assert next_turn("prod", turn - 1, every=300) == turn
    assert next_turn("prod", turn, every=300) == turn + 300


def test_turns_of_fifty_clusters_are_spread_over_the_interval() -> None:
    turns = [next_turn(f"cluster-{number}", 1_764_547_224, every=300) for number in range(50)]
    crowds = Counter((turn % 300) // 30 for turn in turns)
    assert len(crowds) == 10
    assert max(crowds.values()) <= 10


class Unasked:
    """A port that fails the test where somebody asks it; what it knows by itself it may say."""

    def __init__(self, port: Any, *known: str) -> None:
        self._port = port
        self._known = known

    def __getattr__(self, name: str) -> Any:
        assert name in self._known, f"{name} was asked"
        return getattr(self._port, name)


@pytest.mark.parametrize("files", [{}, {"jump": REQUEST}])
def test_what_is_shown_between_passes_asks_nobody(files: dict[str, Any]) -> None:
    story = Story.begin(db=RULE, **files)
    shown: list[tuple[SiteDocuments, SiteDocuments]] = []

    def on_rest(shell: RunContext, view: PassView) -> None:
        quiet = replace(
            shell,
            forge=Unasked(shell.forge, "bot", "capabilities", "clock_skew"),
            cluster=Unasked(shell.cluster),
        )
        shown.append((documents_of_pass(quiet, view), site_documents(shell)))

    watched = Watched(story, passes=2)
    watched.on_rest = on_rest
    watched.run()
    for made, asked in shown:
        assert made.status.pulls == asked.status.pulls
        assert replace(made, status=asked.status) == asked
        assert msgspec.structs.replace(made.status, not_planned=[]) == msgspec.structs.replace(
            asked.status, not_planned=[]
        )
    assert len(shown) == 1, "nothing is shown once the run is to end"


@pytest.mark.parametrize(("soon", "shows"), [(10, False), (600, True)])
def test_nothing_is_shown_right_before_an_opening(story: Story, soon: int, shows: bool) -> None:
    request = RequestId.read("request/db/one")
    opens = story.port.now() + soon
    waits = Waiting(request=request, move=1, vm="db/one", reason="not now", until=opens)
    assert is_quiet(story.shell, ApplyResult(waiting=(waits,))) is shows
    assert not is_quiet(story.shell, ApplyResult(unfinished=True))


def test_a_merge_ends_the_rest(story: Story) -> None:
    watched = Watched(story, passes=2)
    asked: list[int] = []

    def on_pass(result: ReconcileResult) -> None:
        Watched.on_pass(watched, result)
        if not asked:
            story.merge()
            asked.append(story.port.now())

    watched.on_pass = on_pass  # type: ignore[method-assign]
    watched.run(every=86_400)
    assert watched.results[1].applied.states == {"succeeded": 1}
    assert watched.times[1] - asked[0] < 120


def test_pull_requests_that_nobody_has_shown_are_planned(story: Story) -> None:
    pull = story.open(jump=REQUEST)
    watched = Watched(story, passes=2)
    watched.run()
    assert [item.pull.number for item in watched.results[0].pulls] == [pull.number]
    assert watched.results[1].pulls == ()


def test_trouble_is_waited_out_with_growing_rests(story: Story) -> None:
    watched = Watched(story, passes=1)
    watched.failures = [ForgeError(f"out of reach {number}") for number in range(9)]
    watched.run()
    assert [rest for _, rest in watched.troubles] == [10, 20, 40, 80, 160, 320] + [LONGEST_REST] * 3
    assert watched.opened == 10
    assert len(watched.results) == 1


def test_after_a_pass_the_rests_of_trouble_are_short_again(story: Story) -> None:
    watched = Watched(story, passes=2)
    watched.failures = [ForgeError("out of reach") for _ in range(3)]

    def on_pass(result: ReconcileResult) -> None:
        Watched.on_pass(watched, result)
        if len(watched.results) == 1:
            watched.failures = [ForgeError("out of reach again")]
            raise ForgeError("lost in the middle")

    watched.on_pass = on_pass  # type: ignore[method-assign]
    watched.run()
    assert [rest for _, rest in watched.troubles] == [10, 20, 40, 10, 20]


def test_a_bug_ends_it(story: Story) -> None:
    watched = Watched(story)
    watched.failures = [Bug("BUG: impossible")]
    with pytest.raises(Bug):
        watched.run()


def test_another_configuration_is_opened_anew(story: Story) -> None:
    watched = Watched(story, passes=3)

    def on_pass(result: ReconcileResult) -> None:
        Watched.on_pass(watched, result)
        if len(watched.results) == 1:
            text = configuration("  snapshotMaxAge: PT45M\n")
            story.repository.write_commit(
                branch="main",
                expected=story.repository.resolve("main"),
                files={".gitbot.yaml": text.encode()},
                message="longer",
                time=story.port.now(),
            )

    watched.on_pass = on_pass  # type: ignore[method-assign]
    watched.run()
    assert watched.opened == 2


def reads_of(story: Story, run: Callable[[RunContext], object]) -> int:
    """How often a run reads the whole cluster."""
    counted = CountedCluster(story.cluster)
    run(replace(story.shell, cluster=counted))
    return counted.reads


@pytest.mark.parametrize("run", [reconcile, apply_and_report])
def test_idle_pass_reads_the_cluster_once(
    story: Story, run: Callable[[RunContext], ReconcileResult | ApplyResult]
) -> None:
    reconcile(story.shell)
    assert reads_of(story, run) == 1


def test_pass_with_something_to_do_decides_on_a_new_read(story: Story) -> None:
    """The first read of a reconcile is older than its plans."""
    before = story.where()
    reconcile(story.shell)
    story.merge()
    assert reads_of(story, reconcile) > 2
    assert story.where() != before


@dataclass
class CallingForge:
    """Calls once, at that time."""

    story: Story
    at: int
    rung: bool = False

    def called(self) -> bool:
        if not self.rung and self.story.port.now() >= self.at:
            self.rung = True
            return True
        return False


@pytest.mark.parametrize(("after", "rested"), [(0, 5), (3, 5), (5, 5), (12, 12)])
def test_a_call_of_the_forge_ends_the_rest_that_had_its_first_seconds(
    story: Story, after: int, rested: int
) -> None:
    began = story.port.now()
    forge = CallingForge(story, began + after)
    shell = replace(story.shell, called=forge.called)
    wait_for_next_pass(shell, ApplyResult(), every=300)
    assert story.port.now() - began == rested


def test_without_a_call_the_rest_is_as_long_as_ever(story: Story) -> None:
    began = story.port.now()
    turn = next_turn("iberia", began, every=300) - began
    wait_for_next_pass(replace(story.shell, called=lambda: False), ApplyResult(), every=300)
    assert story.port.now() - began == turn
