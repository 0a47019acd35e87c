"""reconcile records what audits find: a line when it changes, an age for every finding."""

from gitbot.model.ledger.events import AuditScored
from gitbot.model.ledger.ledger import Ledger
from gitbot.workflows.ask.audit_trend import audit_lines, drawn
from gitbot.workflows.audit import AuditQuery, AuditResult, run_audit
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import RULE
from tests.unit.workflows.story import CLUSTER, Story

DAY = 86_400
BROKEN = "audit/rule-broken ZoneAntiAffinity customapp/mssql2016"


def audits(story: Story) -> tuple[AuditScored, ...]:
    return story.store.read().audits(CLUSTER)


def audited(story: Story, *, since: int = 0) -> AuditResult:
    shell = story.shell
    return run_audit(
        shell.cluster.snapshot(),
        now=shell.clock.now(),
        revision=shell.read_base(story.repository.resolve("main") or "").revision,
        ledger=shell.ledger_store.read(),
        query=AuditQuery(since=since),
    )


def test_nothing_is_recorded_where_that_is_turned_off() -> None:
    story = Story.begin(db=RULE, settings="  recordAudit: false\n")
    reconcile(story.shell)
    assert audits(story) == ()


def test_a_line_is_written_when_what_stands_changes_and_no_earlier_than_an_hour_later() -> None:
    story = Story.begin(db=RULE)
    first = story.shell.clock.now()
    reconcile(story.shell)
    (line,) = audits(story)
    assert line.time == first
    assert BROKEN in line.appeared
    assert line.errors >= 1
    story.port.sleep(2 * 3600)
    reconcile(story.shell)
    assert audits(story) == (line,)  # the same stands
    story.merge(1)  # the healing of the rule
    reconcile(story.shell)
    story.port.sleep(2 * 3600)
    reconcile(story.shell)
    assert audits(story)[0] == line
    assert BROKEN in audits(story)[-1].gone
    assert audits(story)[-1].errors < line.errors


def test_every_finding_is_as_old_as_the_ledger_saw_it() -> None:
    story = Story.begin(db=RULE)
    first = story.shell.clock.now()
    reconcile(story.shell)
    story.port.sleep(DAY)
    warned = [item for item in audited(story).findings if item.finding.severity != "note"]
    assert warned
    assert {item.since for item in warned if item.observed} == {first}
    assert all(item.observed for item in warned)
    newer = audited(story, since=first + 1).findings
    assert [item for item in newer if item.finding.severity != "note"] == []


def test_the_dashboard_draws_the_score_and_is_quiet_without_news() -> None:
    story = Story.begin(db=RULE)
    reconcile(story.shell)
    reconcile(story.shell)
    (issue,) = story.forge.issues
    assert "### Audit\n\n- since 2025" in issue.body
    writes = story.writes()
    story.port.sleep(3 * 3600)
    reconcile(story.shell)
    assert story.writes() == writes


def test_a_line_of_weeks() -> None:
    assert drawn([0, 1, 2, 4, 8]) == "▁▂▃▅█"
    assert drawn([0, 0]) == "▁▁"
    times = [(0, 8, ("a",), ()), (7 * DAY, 4, (), ("a",)), (21 * DAY, 2, ("b", "c"), ("c",))]
    lines = tuple(
        AuditScored(file="audit/c.jsonl", time=time, errors=errors, appeared=new, gone=old)
        for time, errors, new, old in times
    )
    told = list(audit_lines(lines))
    assert told[0].endswith("a week before: 4; errors and warnings of 4 weeks: █▅▅▃")
    assert told[1] == "new within that week: b"


def test_without_a_ledger_there_is_no_section() -> None:
    assert list(audit_lines(Ledger().audits(CLUSTER))) == []
