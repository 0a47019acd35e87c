"""The metrics file of `reconcile`, read as Prometheus reads it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from prometheus_client.parser import text_string_to_metric_families

from gitbot.cli.commands import hold, reconcile
from gitbot.cli.shared import session
from gitbot.errors import ClusterError, UsageError
from gitbot.execution.ledger_folds import breaker_event
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.model.ledger.events import MoveChanged
from gitbot.reports import CATALOGUE, MetricValues, exposition
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.watch import PassStage
from tests.doubles.intents import RULE
from tests.unit.workflows.story import Story

Samples = dict[tuple[str, str], float]


@pytest.fixture
def story() -> Story:
    return Story.begin(db=RULE)


@pytest.fixture
def run(story: Story, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], Result]:
    @contextmanager
    def opened(where: dict[str, str], **_: bool) -> Iterator[RunContext]:
        yield replace(story.shell, progress=session.print_progress)

    for module in (hold, reconcile):
        monkeypatch.setattr(module, "running", opened)

    def call() -> Result:
        options = ["--metrics-file", str(tmp_path / "gitbot.prom")]
        return CliRunner().invoke(reconcile.reconcile, options, standalone_mode=False)

    return call


def read(folder: Path) -> Samples:
    families = text_string_to_metric_families((folder / "gitbot.prom").read_text())
    found = {}
    for family in families:
        for sample in family.samples:
            assert sample.labels.pop("cluster") == "iberia"
            found[sample.name, ",".join(sample.labels.values())] = sample.value
    return found


def ratio(story: Story) -> float:
    """What the only migration took, over the estimate of the only approved plan."""
    ledger = story.store.ledger
    (ended,) = (event for event in ledger.requests("iberia") if event.state == "succeeded")
    assert isinstance(ended, MoveChanged)
    (move,) = json.loads(ledger.plans[ended.digest])["moves"]
    assert move["request"] != str(ended.request), "a healing: the plan has no time in its id"
    return float(ended.seconds / move["estimatedSeconds"])


def test_a_move_is_counted_from_the_ledger(story: Story, run: Callable[[], Result], tmp_path: Path) -> None:  # fmt: skip  # noqa: E501
    run()
    proposed = read(tmp_path)
    assert proposed["gitbot_migrations_created_total", ""] == 0
    story.merge()
    run()
    run()
    moved = read(tmp_path)
    assert moved["gitbot_healthy", ""] == 1
    assert moved["gitbot_stopped", ""] == 0
    assert moved["gitbot_migrations_created_total", ""] == 1
    assert moved["gitbot_moves_ended_total", "succeeded"] == 1
    assert moved["gitbot_moves", "running"] == 0
    assert moved["gitbot_migration_duration_seconds_count", ""] == 1
    assert moved["gitbot_migration_duration_seconds_bucket", "+Inf"] == 1
    assert moved["gitbot_migration_duration_seconds_sum", ""] > 0
    assert moved["gitbot_migration_estimate_ratio_count", ""] == 1
    assert moved["gitbot_migration_estimate_ratio_sum", ""] == pytest.approx(ratio(story))
    assert moved["gitbot_ledger_lines", ""] == len(story.store.ledger.events)
    assert moved["gitbot_passes_total", "ok"] == 3
    assert moved["gitbot_open_proposals", ""] == 0


def test_each_second_of_a_pass_belongs_to_its_stage(
    story: Story, run: Callable[[], Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    story.merge()
    snapshot = story.shell.cluster.snapshot

    def slow() -> ClusterSnapshot:
        story.shell.clock.sleep(7)
        return snapshot()

    monkeypatch.setattr(story.shell.cluster, "snapshot", slow)
    run()
    found = read(tmp_path)
    name = "gitbot_last_pass_stage_duration_seconds"
    stages = {stage: seconds for (asked, stage), seconds in found.items() if asked == name}
    assert list(stages) == sorted(PassStage)
    assert stages["look"] == 7
    assert stages["apply"] >= found["gitbot_migration_duration_seconds_sum", ""] > 0
    assert sum(stages.values()) == found["gitbot_last_pass_duration_seconds", ""]
    now = story.shell.clock.now()
    assert now - 60 < found["gitbot_last_look_timestamp_seconds", ""] <= now


def test_an_open_proposal_is_shown(run: Callable[[], Result], tmp_path: Path) -> None:
    run()  # proposes at its end
    run()
    assert read(tmp_path)["gitbot_open_proposals", ""] == 1


def test_a_hold_is_healthy_and_stops(story: Story, run: Callable[[], Result], tmp_path: Path) -> None:  # fmt: skip  # noqa: E501
    options = ["--reason", "smoke", "--by", "ann"]
    CliRunner().invoke(hold.hold, options, standalone_mode=False, catch_exceptions=False)
    run()
    held = read(tmp_path)
    assert (held["gitbot_stopped", ""], held["gitbot_healthy", ""]) == (1, 1)
    assert held["gitbot_hold_timestamp_seconds", ""] > 0
    assert held["gitbot_breaker_open", ""] == 0


def test_the_breaker_is_told_from_a_person(story: Story, run: Callable[[], Result], tmp_path: Path) -> None:  # fmt: skip  # noqa: E501
    stop = breaker_event("3 moves failed", cluster="iberia", now=story.shell.clock.now())
    story.store.append(story.store.read(), (stop,), {})
    run()
    assert read(tmp_path)["gitbot_breaker_open", ""] == 1


def test_broken_rules_have_their_age(story: Story, run: Callable[[], Result], tmp_path: Path) -> None:  # fmt: skip  # noqa: E501
    run()
    first = read(tmp_path)
    assert first["gitbot_broken_rules", "Required"] == 1
    since = first["gitbot_broken_rules_since_timestamp_seconds", "Required"]
    assert since > 0
    assert first["gitbot_broken_rules_since_timestamp_seconds", "Preferred"] == 0
    story.shell.clock.sleep(7200)
    run()
    assert read(tmp_path)["gitbot_broken_rules_since_timestamp_seconds", "Required"] == since
    story.merge()
    run()
    story.shell.clock.sleep(7200)
    run()
    healed = read(tmp_path)
    assert healed["gitbot_broken_rules", "Required"] == 0
    assert healed["gitbot_broken_rules_since_timestamp_seconds", "Required"] == 0


def test_a_pass_that_fails_keeps_what_was_read(
    story: Story, run: Callable[[], Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    before = read(tmp_path)

    def gone() -> None:
        raise ClusterError("connection refused")

    monkeypatch.setattr(story.shell.cluster, "snapshot", gone)
    assert isinstance(run().exception, ClusterError)
    after = read(tmp_path)
    assert (after["gitbot_healthy", ""], after["gitbot_passes_total", "failing"]) == (0, 1)
    name = "gitbot_last_success_timestamp_seconds"
    assert after[name, ""] == before[name, ""] > 0
    # a one-off job that read nothing knows nothing: an unknown value is not 0
    assert ("gitbot_moves", "running") not in after


def test_every_metric_is_documented_and_every_documented_one_is_written(
    story: Story, run: Callable[[], Result], tmp_path: Path
) -> None:
    run()
    story.merge()
    run()
    written = {item.name for item in text_string_to_metric_families((tmp_path / "gitbot.prom").read_text())}  # fmt: skip  # noqa: E501
    assert written == {name.removesuffix("_total") for name in CATALOGUE}
    page = (Path(__file__).parents[3] / "docs/reference/metrics.md").read_text()
    page, _, _ = page.partition("## Alerts")
    rows = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `gitbot_")}
    assert rows.keys() == CATALOGUE.keys()
    for name, metric in CATALOGUE.items():
        label = f"`{metric.label}`" if metric.label else ""
        assert rows[name] == f"| `{name}` | {metric.kind} | {label} | {metric.help} |"


def test_a_histogram_counts_a_value_at_its_bound_below_it() -> None:
    observed = (0.2, 0.5, 2.0, 2.1, 60.0)
    name = "gitbot_migration_estimate_ratio"
    (family,) = text_string_to_metric_families(
        exposition("iberia", [MetricValues(name=name, observed=observed)]).decode()
    )
    found = {sample.labels.get("le", sample.name): sample.value for sample in family.samples}
    counts = {"0.25": 1, "0.5": 2, "1": 2, "1.5": 2, "2": 3, "3": 4, "10": 4, "+Inf": 5}
    assert {bound: found[bound] for bound in counts} == counts
    assert found[f"{name}_sum"] == pytest.approx(sum(observed))


def test_hostile_names_stay_in_their_label() -> None:
    hostile = 'a"b\\c\nd\u202e'
    text = exposition(hostile, [MetricValues(name="gitbot_build_info", values={'1"\n': 1})])
    (family,) = text_string_to_metric_families(text.decode())
    (sample,) = family.samples
    assert sample.labels == {"cluster": hostile, "version": '1"\n'}


def test_a_folder_that_is_not_there_is_said(run: Callable[[], Result], tmp_path: Path) -> None:
    tmp_path.rmdir()
    result = run()
    assert isinstance(result.exception, UsageError)
    assert "the metrics file" in str(result.exception)


def test_a_file_of_another_program_counts_as_none(run: Callable[[], Result], tmp_path: Path) -> None:  # fmt: skip  # noqa: E501
    (tmp_path / "gitbot.prom").write_bytes(b"\xff{{{ not metrics")
    run()
    assert read(tmp_path)["gitbot_passes_total", "ok"] == 1
