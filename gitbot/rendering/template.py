"""A template text and values to one Kubernetes object: Jinja2, strict, values as JSON.

Every value passes the filter `json` (or `cel`, inside an expression), so no user's text can change
the shape of an object: a template without it does not render to JSON and is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gitbot.errors import GitbotError
from gitbot.kubernetes.objects import KubernetesObject


def render_object(
    templates: Mapping[str, str], name: str, values: Mapping[str, Any]
) -> KubernetesObject:
    """The object that the template of that name describes. GitbotError if rendering fails."""
    if name not in templates:
        known = ", ".join(sorted(templates)) or "none"
        raise GitbotError(
            f"template {name} is missing; templates found: {known}",
            hint="templates/ ships with gitbot: reinstall it, or put the file back",
        )
    try:
        rendered = json.loads(_compiled(templates[name]).render(dict(values)))
    except (TemplateError, json.JSONDecodeError) as error:
        raise GitbotError(
            f"template {name} cannot be rendered: {error}",
            hint="give every value the filter `json`, and keep the text around them JSON",
        ) from error
    if not isinstance(rendered, dict):
        raise GitbotError(f"template {name} renders to {type(rendered).__name__}, not an object")
    return rendered


@lru_cache(maxsize=64)
def _compiled(text: str) -> Template:
    return _environment().from_string(text)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,  # the output is JSON, not HTML: the filter `json` escapes
    )
    environment.filters["json"] = _as_json
    environment.filters["cel"] = as_cel
    return environment


def as_cel(value: Any) -> str:
    """A CEL literal of plain data. Mapping values are wrapped in dyn(), because types may differ.

    A JSON string is a valid CEL string: CEL supports all of JSON's escapes.
    """
    match value:
        case Mapping():
            items = ", ".join(f"{as_cel(key)}: dyn({as_cel(item)})" for key, item in value.items())
            return f"{{{items}}}"
        case list() | tuple():
            return f"[{', '.join(as_cel(item) for item in value)}]"
        case _:
            return _as_json(value)


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True)
