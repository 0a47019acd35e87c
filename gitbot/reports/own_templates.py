"""The texts that a repository may word itself: Jinja2 templates in its folder `templates/`.

A template is somebody's program. It is rendered in the process with limits, never beside
credentials, and only the one of the protected base branch is used.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from gitbot.model.ledger.request_id import MigrationRequestId
from gitbot.reports.truncate import leaves_open

if TYPE_CHECKING:
    from jinja2 import Template

FOLDER = "templates/"
LARGEST = 16_384  # bytes of one template
_NAME = "template"

Values = Mapping[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextQuestion:
    """A template and its values, for the process with limits."""

    template: str
    values: Values


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateFault:
    """Why a template is not used. `line` is 0 if no line is to blame."""

    message: str
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TextForm:
    """One text that a repository may word: the name of its template, and what goes into it.

    `sample` has every value, as an example for `lint`. The text must show the values in `kept`
    unchanged, if they are not empty. `most`: its longest, in bytes.
    """

    name: str
    sample: Values
    kept: tuple[str, ...] = ()
    most: int

    @property
    def path(self) -> str:
        return f"{FOLDER}{self.name}"

    def fault(self, values: Values, text: str) -> TemplateFault | None:
        """What a rendered text lacks; None if it may be used."""
        if not text.strip():
            return TemplateFault(message="found an empty text, expected words")
        if (size := len(text.encode("utf-8"))) > self.most:
            return TemplateFault(
                message=f"found a text of {size} bytes, expected at most {self.most}"
            )
        for name in self.kept:
            value = str(values[name])
            if value and not _shows(text, value):
                return TemplateFault(
                    message=f"found a text that does not show `{name}` as it is, expected "
                    f"{{{{ {name} }}}} at the start of a line, outside comments and folds"
                )
        return None


def _shows(text: str, value: str) -> bool:
    """Whether readers see a value: at the start of a line, in no comment, fence or fold."""
    before, found, _ = text.partition(value)
    hidden = before.count("<!--") > before.count("-->")
    return bool(found) and before[-1:] in ("", "\n") and not hidden and not leaves_open(before)


COMMENT = TextForm(
    name="comment.md.j2",
    sample={
        "marker": "<!-- gitbot:plan:prod -->",
        "cluster": "prod",
        "digest": "sha256:0000",
        "verdict": "ready",
        "moves": 1,
        "held": 0,
        "summary": "✅ gitbot on `prod`: **ready**\n\n**1 move**\n\n",
        "findings": "| severity | where | finding |\n|---|---|---|\n| note | `x` | y |\n\n",
        "move_table": "| VM | from | to |\n|---|---|---|\n| `shop/db` | `n1` | `n2` |\n\n",
        "memory": "",
        "hold_tables": "",
        "rules": "",
        "waves": "",
        "picture": "",
        "folded_moves": "",
        "details": "<details><summary>Preflight checks</summary>\n\n- passed\n\n</details>\n\n",
        "commands": "```console\ngitbot plan\n```\n",
    },
    kept=("marker", "summary", "move_table", "folded_moves"),
    most=65_536,
)
PULL_REQUEST = TextForm(
    name="pull_request.md.j2",
    sample={
        "cluster": "prod",
        "concern": "drain-rack-7-20261127T210000Z",
        "why": "Window rack-7 opens on 27 November",
        "merging": "Merging approves exactly the moves in the file.",
    },
    kept=("merging",),
    most=16_384,
)
NOTICE = TextForm(
    name="notice.txt.j2",
    sample={
        "id": "gitbot/12",
        "event": "Moved",
        "severity": "Info",
        "text": "prod: shop/db-0 moved from node-1 to node-2",
        "cluster": "prod",
        "time": "2026-11-27T21:00:00Z",
        "request": str(MigrationRequestId(namespace="shop", name="move-db")),
        "vm": "shop/db-0",
        "node": "",
        "pullRequest": 7,
        "reason": "",
    },
    most=4_096,
)
FORMS = {form.name: form for form in (COMMENT, PULL_REQUEST, NOTICE)}


def render_text(question: TextQuestion) -> str | TemplateFault:
    """Render a template in this process: an endless one does not return."""
    from jinja2 import TemplateSyntaxError  # noqa: PLC0415 - only where used

    try:
        return _compiled(question.template).render(question.values)
    except MemoryError:
        raise
    except TemplateSyntaxError as error:
        return TemplateFault(message=f"found no template: {error.message}", line=error.lineno)
    except Exception as error:  # noqa: BLE001 - a template is a program: it may raise anything
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == f"<{_NAME}>"
        ]
        return TemplateFault(
            message=f"found a template that ends with {type(error).__name__}: {error}",
            line=(lines[-1] if lines else 0) or 0,
        )


@lru_cache(maxsize=16)
def _compiled(text: str) -> Template:
    from jinja2 import StrictUndefined  # noqa: PLC0415 - only where used
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,  # values come as Markdown or plain text, escaped for it
    )
    return environment.from_string(text)
