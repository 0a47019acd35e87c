"""Texts in a repository's own words: its templates on the base branch, rendered apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gitbot.errors import RepositoryError, UnreachableError
from gitbot.model.plan.findings import Finding, Severity
from gitbot.reports.own_templates import (
    FORMS,
    LARGEST,
    TemplateFault,
    TextForm,
    TextQuestion,
    Values,
    render_text,
)
from gitbot.workflows.core.context import RunContext, base_head

Render = Callable[[TextQuestion], str | TemplateFault]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """A text in the repository's own words; "" without a template, or with its fault."""

    text: str = ""
    where: str = ""  # FILE:LINE of the fault
    fault: str = ""


def own_wording(shell: RunContext, form: TextForm, values: Callable[[int], Values]) -> Wording:
    """What the template of the base branch makes of the values.

    `values` gets the number of bytes that their texts may have together.
    """
    try:
        found = shell.repository.read_blob(base_head(shell), form.path)
    except UnreachableError:
        raise
    except RepositoryError as error:  # a link, for example
        return Wording(where=form.path, fault=str(error))
    if found is None:
        return Wording()
    return wording(form, found, values, shell.render or render_text)


def wording(
    form: TextForm, template: bytes, values: Callable[[int], Values], render: Render
) -> Wording:
    """What the template makes of the values, as in `own_wording`."""
    made = _rendered(form, template, values(form.most - len(template)), render)
    if isinstance(made, TemplateFault):
        return Wording(where=f"{form.path}:{made.line or 1}", fault=made.message)
    return Wording(text=made)


def template_findings(
    form: TextForm, template: bytes, render: Render = render_text
) -> tuple[Finding, ...]:
    """An error if the template does not word the sample values."""
    made = _rendered(form, template, form.sample, render)
    if not isinstance(made, TemplateFault):
        return ()
    found = Finding(
        code="template/unusable",
        severity=Severity.ERROR,
        message=made.message,
        file=form.path,
        line=made.line or 1,
        column=1,
        hint=f"its values are {', '.join(form.sample)}; until it works, gitbot uses its own text",
    )
    return (found,)


def changed_templates(shell: RunContext, before: str, after: str) -> tuple[Finding, ...]:
    """The findings about templates that differ between two trees. Raises RepositoryError."""
    found: list[Finding] = []
    for form in FORMS.values():
        new = shell.repository.read_blob(after, form.path)
        if new is not None and new != shell.repository.read_blob(before, form.path):
            found += template_findings(form, new, shell.render or render_text)
    return tuple(found)


def _rendered(
    form: TextForm, template: bytes, values: Values, render: Render
) -> str | TemplateFault:
    if len(template) > LARGEST:
        return TemplateFault(message=f"found {len(template)} bytes, expected at most {LARGEST}")
    try:
        text = template.decode("utf-8")
    except UnicodeDecodeError as error:
        line = template.count(b"\n", 0, error.start) + 1
        return TemplateFault(message="found a byte that is not UTF-8", line=line)
    made = render(TextQuestion(template=text, values=values))
    return made if isinstance(made, TemplateFault) else form.fault(values, made) or made
