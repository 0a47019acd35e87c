"""Templates of a repository: what they may say, and what no template leaves out."""

import pytest

from gitbot.reports import comment_values
from gitbot.reports.own_templates import (
    COMMENT,
    FORMS,
    TemplateFault,
    TextForm,
    TextQuestion,
    render_text,
)
from gitbot.wiring import ShippedTexts
from tests.unit.reports.test_diff import diff


def made(template: str, form: TextForm = COMMENT) -> str | TemplateFault:
    text = render_text(TextQuestion(template=template, values=form.sample))
    return text if isinstance(text, TemplateFault) else form.fault(form.sample, text) or text


KEPT = "{{ marker }}\n{{ summary }}{{ move_table }}"


def test_a_comment_has_the_values_of_its_sample() -> None:
    values = comment_values(diff())
    assert values.keys() == COMMENT.sample.keys()
    assert {name: type(value) for name, value in values.items()} == {
        name: type(value) for name, value in COMMENT.sample.items()
    }


def test_the_shipped_template_words_a_comment() -> None:
    text = made(ShippedTexts().templates()[COMMENT.name])
    assert isinstance(text, str)
    for value in COMMENT.sample.values():
        assert isinstance(value, int) or value in text or value == COMMENT.sample["digest"]


def test_words_around_what_is_kept_are_free() -> None:
    text = made(f"{{{{ marker }}}}\n# Ask #virt\n{{% if held %}}x{{% endif %}}\n{KEPT}\n_bye_\n")
    assert isinstance(text, str)
    assert text.startswith(f"{COMMENT.sample['marker']}\n# Ask #virt\n")
    assert text.endswith("_bye_")


@pytest.mark.parametrize(
    ("template", "message", "line"),
    [
        ("a\n{% if %}", "found no template: Expected an expression", 2),
        ("a\n\n{{ nobody }}", "ends with UndefinedError: 'nobody' is undefined", 3),
        ("{{ 1 / 0 }}", "ends with ZeroDivisionError", 1),
        ("{% include 'node.json.j2' %}", "ends with TypeError", 1),
        ("{{ ''.__class__.__mro__ }}", "ends with SecurityError", 1),
        ("  {# nothing #}\n", "found an empty text", 0),
        ("{{ marker }}\n{{ move_table }}", "does not show `summary`", 0),
        (f"<!--\n{KEPT}\n-->", "does not show `marker`", 0),
        (f"```\n{KEPT}\n```", "does not show `marker`", 0),
        (f"<details><summary>plan</summary>\n{KEPT}", "does not show `marker`", 0),
        ("{{ marker }}\n> {{ summary }}{{ move_table }}", "does not show `summary`", 0),
        ("{{ marker }}\n{{ summary | replace('1', '0') }}{{ move_table }}", "`summary`", 0),
        (f"{KEPT}{{{{ 'x' * 70000 }}}}", "expected at most 65536", 0),
    ],
)
def test_a_template_that_cannot_be_used_says_why(template: str, message: str, line: int) -> None:
    fault = made(template)
    assert isinstance(fault, TemplateFault)
    assert message in fault.message
    assert fault.line == line


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_value_may_be_left_out_but_those_that_are_kept(form: TextForm) -> None:
    text = "".join(f"{{{{ {name} }}}}\n" for name in form.kept) or "something happened"
    assert isinstance(made(text, form), str)
    for name in form.kept:
        missing = made(f"words\n{text}".replace(f"{{{{ {name} }}}}\n", ""), form)
        assert isinstance(missing, TemplateFault) is bool(form.sample[name])
