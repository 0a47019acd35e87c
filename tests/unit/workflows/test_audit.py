"""An audit's findings have an age, and are narrowed to what was asked for."""

from gitbot.cli.shared.options import read_selector
from gitbot.model.ledger.events import ConcernChanged, ConcernState
from gitbot.model.ledger.ledger import concern_file, concern_of
from gitbot.model.plan.findings import Severity
from gitbot.workflows.audit import AuditQuery, AuditResult, run_audit
from gitbot.workflows.ledger.writer import Journal
from gitbot.workflows.propose import propose
from tests.doubles.intents import RULE
from tests.unit.workflows.story import Story

BROKEN = "ZoneAntiAffinity/customapp/mssql2016"


def audited(story: Story, query: AuditQuery | None = None) -> AuditResult:
    shell = story.shell
    return run_audit(
        shell.cluster.snapshot(),
        now=shell.clock.now(),
        revision=shell.read_base(story.repository.resolve("main") or "").revision,
        ledger=shell.ledger_store.read(),
        query=query,
    )


def test_a_broken_rule_is_as_old_as_the_ledger_saw_it() -> None:
    story = Story.begin(db=RULE)
    (unseen,) = [item for item in audited(story).findings if item.rule == BROKEN]
    assert not unseen.observed
    first = story.shell.clock.now()
    propose(story.shell)
    story.port.sleep(7200)
    propose(story.shell)
    (seen,) = [item for item in audited(story).findings if item.rule == BROKEN]
    assert (seen.since, seen.observed) == (first, True)
    assert seen.finding.severity is Severity.ERROR
    newer = AuditQuery(since=first + 3600)
    assert [item for item in audited(story, newer).findings if item.rule == BROKEN] == []


def test_age_counts_from_the_last_time_that_it_was_clean() -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    shell = story.shell
    name = next(concern_of(event) for event in shell.ledger_store.read().concerns("iberia"))
    journal = Journal(shell.ledger_store, shell.clock)
    journal.read()
    for state in (ConcernState.GONE, ConcernState.MERGED):
        story.port.sleep(60)
        line = ConcernChanged(
            file=concern_file("iberia", name), time=shell.clock.now(), cluster="iberia", state=state
        )
        journal.commit((line,))
    (unseen,) = [item for item in audited(story).findings if item.rule == BROKEN]
    assert not unseen.observed
    again = shell.clock.now()
    propose(shell)
    (seen,) = [item for item in audited(story).findings if item.rule == BROKEN]
    assert (seen.since, seen.observed) == (again, True)


def test_what_was_asked_for() -> None:
    story = Story.begin(db=RULE)
    every = audited(story).findings
    assert BROKEN in {item.rule for item in every}
    for query in (
        AuditQuery(rule="mssql2016"),
        AuditQuery(rule="customapp/mssql2016"),
        AuditQuery(rule=BROKEN),
        AuditQuery(rule="audit/rule-broken", namespace="customapp"),
        AuditQuery(labels=read_selector("kubevirt.io/domain=mssql2016")),
    ):
        assert {item.rule for item in audited(story, query).findings} == {BROKEN}, query
    for query in (
        AuditQuery(namespace="elsewhere"),
        AuditQuery(labels=read_selector("kubevirt.io/domain=nothing")),
        AuditQuery(rule="other"),
    ):
        assert audited(story, query).findings == ()


def test_without_a_repository_it_says_what_was_not_audited() -> None:
    story = Story.begin(db=RULE)
    result = run_audit(story.shell.cluster.snapshot(), now=story.shell.clock.now())
    assert result.unasked == ("rules of intents, and manifests: there is no repository here",)
    assert BROKEN not in {item.rule for item in result.findings}
