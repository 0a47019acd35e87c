"""docs/reference/templates.md lists what a template gets, and its examples can be used."""

import re
from pathlib import Path

import pytest

from gitbot.reports.own_templates import FORMS, TemplateFault, TextForm, TextQuestion, render_text

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "templates.md").read_text("utf-8")


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_page_names_the_values_and_its_example_can_be_used(form: TextForm) -> None:
    (row,) = re.findall(rf"^\| `{re.escape(form.name)}` \| .* \| (.*)\|$", PAGE, re.MULTILINE)
    assert re.findall(r"`(\w+)`", row) == list(form.kept)
    section = PAGE.split(f"\n## {form.name}\n")[1].split("\n## ")[0]
    words, example = section.split("```jinja\n")
    assert f"At most {form.most:,} bytes." in words
    assert set(re.findall(r"`(\w+)`", words)) >= set(form.sample)
    text = render_text(TextQuestion(template=example.split("```")[0], values=form.sample))
    assert not isinstance(text, TemplateFault)
    assert form.fault(form.sample, text) is None
