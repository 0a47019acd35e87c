"""Templates of pages: compiled in a sandbox; text from people and clusters is escaped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import DictLoader, StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from gitbot.errors import GitbotError
from gitbot.model.text.instants import format_instant
from gitbot.model.text.wording import counted
from gitbot.reports import escape


def parts_of(templates: Mapping[str, str], names: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Name and text of each. Raises GitbotError if one is missing."""
    for name in names:
        if name not in templates:
            raise GitbotError(
                f"template {name} is missing",
                hint="templates/ ships with gitbot: reinstall it, or put the file back",
            )
    return tuple((name, templates[name]) for name in names)


def compiled(
    parts: tuple[tuple[str, str], ...],
    page: str,
    *,
    filters: Mapping[str, Callable[..., Any]] | None = None,
    tests: Mapping[str, Callable[..., bool]] | None = None,
) -> Template:
    """The template of that name, which may include the other parts."""
    environment = ImmutableSandboxedEnvironment(
        loader=DictLoader(dict(parts)),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_inert,
    )
    environment.filters |= {"instant": format_instant, "counted": counted, **(filters or {})}
    environment.tests |= tests or {}
    return environment.get_template(page)


def rendered(template: Template, values: Mapping[str, Any]) -> str:
    """Raises GitbotError if the template does not fit the values."""
    try:
        return template.render(values)
    except TemplateError as error:
        raise GitbotError(
            f"template {template.name} cannot be rendered: {error}",
            hint="put the shipped templates back",
        ) from error


def _inert(value: object) -> object:
    """Escape text from people and clusters; hidden and reordering characters become visible."""
    if isinstance(value, Markup):
        return Markup(escape.lines(str(value)))  # noqa: S704 - it was safe before
    return escape.lines(value) if isinstance(value, str) else value
