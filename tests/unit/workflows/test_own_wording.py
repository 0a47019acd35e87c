"""A repository's own templates: only those of the base branch word what people read."""

from dataclasses import replace

from gitbot.model.plan.findings import Finding
from gitbot.reports.own_templates import COMMENT, NOTICE, PULL_REQUEST
from gitbot.workflows.apply import hold
from gitbot.workflows.check import publish
from gitbot.workflows.propose import propose
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import REQUEST, RULE
from tests.unit.workflows.story import Story
from tests.unit.workflows.test_notices import ONCALL, begun, shell

OWN = """\
{{ marker }}
**Ask #virt on {{ cluster }}** ({{ moves }} to move, {{ held }} stay)

{{ summary }}{{ move_table }}{{ folded_moves }}{{ commands }}
"""
HIDES = "{{ marker }}\n<!--\n{{ summary }}{{ move_table }}{{ folded_moves }}-->\n"


def begin(path: str, template: str) -> Story:
    """A story whose base branch has this template."""
    story = Story.begin()
    story.commit(**{path: template})
    return story


def shown(story: Story, **files: str) -> tuple[str, tuple[Finding, ...]]:
    """The comment on a pull request with these files, and the findings of its check."""
    pull = story.open(jump=REQUEST, **files)
    outcome = publish(story.shell, number=pull.number)
    assert not publish(story.shell, number=pull.number).wrote
    (comment,) = story.forge.list_comments(pull.number)
    return comment.body, outcome.check.findings


def test_the_comment_has_the_words_of_the_base_branch() -> None:
    text, findings = shown(begin(COMMENT.path, OWN))
    assert "\n**Ask #virt on iberia** (1 to move, 0 stay)\n" in text
    assert "| VM | from | to |" in text
    assert "Preflight checks" not in text
    assert findings == ()


def test_a_template_of_the_head_words_nothing_and_is_checked() -> None:
    text, findings = shown(Story.begin(), **{COMMENT.path: OWN})
    assert "Ask #virt" not in text
    assert findings == ()
    text, (finding,) = shown(Story.begin(), **{COMMENT.path: HIDES})
    assert (finding.code, finding.file) == ("template/unusable", COMMENT.path)
    assert "does not show `summary`" in finding.message
    assert "❌ gitbot on `iberia`: **nothing was planned**" in text
    assert f"- `{COMMENT.path}:1:1` " in text


def test_a_template_that_hides_the_plan_is_not_used_and_the_comment_says_so() -> None:
    text, findings = shown(begin(COMMENT.path, HIDES))
    assert "gitbot on `iberia`: **ready**" in text
    assert "<!--\n" not in text
    assert "`templates/comment.md.j2:1`: found a text that does not show" in text
    assert findings == ()


def test_what_does_not_answer_in_time_words_nothing() -> None:
    story = begin(COMMENT.path, OWN)
    pull = story.open(jump=REQUEST)
    slow = COMMENT.fault(COMMENT.sample, "")
    assert slow is not None
    publish(replace(story.shell, render=lambda _: slow), number=pull.number)
    (comment,) = story.forge.list_comments(pull.number)
    assert slow.message in comment.body


def test_a_template_that_is_no_text_is_not_used() -> None:
    story = Story.begin()
    for data, said in ((b"\xff", "not UTF-8"), (b"x" * 20_000, "expected at most 16384")):
        story.repository.write_commit(
            branch="main",
            expected=story.repository.resolve("main"),
            files={COMMENT.path: data},
            message="template",
            time=story.port.now(),
        )
        pull = story.open(branch=f"work-{len(data)}", jump=REQUEST)
        publish(story.shell, number=pull.number)
        assert said in story.forge.list_comments(pull.number)[0].body


def test_a_pull_request_of_gitbot_has_the_words_of_the_base_branch() -> None:
    words = "{{ why }} ({{ concern }}).\n\n{{ merging }}\n\nQuestions: #virt\n"
    story = begin(PULL_REQUEST.path, words)
    story.commit(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    assert pull.body.endswith("silent until the plan changes.\n\nQuestions: #virt")


def test_a_pull_request_always_says_what_merging_does() -> None:
    story = begin(PULL_REQUEST.path, "Merge me.\n")
    story.commit(db=RULE)
    propose(story.shell)
    (pull,) = story.pulls()
    assert "Merging approves exactly" in pull.body
    assert any("pull_request.md.j2:1: found a text that does not" in line for line in story.lines)


def test_a_notice_has_the_words_of_the_base_branch() -> None:
    story, hook = begun(ONCALL)
    text = "{{ event }}\x1b[31m: {{ vm }} #{{ pullRequest }}{% if reason %} {{ reason }}{% endif %}"
    story.commit(**{NOTICE.path: text})
    hold(story.shell, reason="the storage is slow", by="ann")
    reconcile(shell(story, hook))
    (stopped,) = hook.took
    assert stopped["event"] == "Stopped"
    assert stopped["text"].startswith("Stopped")
    assert "\x1b" not in stopped["text"]
    assert stopped["text"].endswith(" #0 the storage is slow")


def test_a_notice_in_broken_words_has_gitbots_own() -> None:
    story, hook = begun(ONCALL)
    story.commit(**{NOTICE.path: "{{ nobody }}"})
    hold(story.shell, reason="the storage is slow", by="ann")
    reconcile(shell(story, hook))
    assert [each["text"] for each in hook.took] == [
        "iberia: gitbot starts nothing more: the storage is slow"
    ]
    assert any("'nobody' is undefined; notices have gitbot's own text" in x for x in story.lines)
