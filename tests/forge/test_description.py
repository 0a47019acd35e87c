"""The double against GitHub's own description: its paths, and every answer its tests provoke."""

from __future__ import annotations

import pytest

from tests.doubles.github.calls import Answer, Request
from tests.doubles.github.routes import ROUTES
from tests.doubles.github.service import NOBODY, Exchange
from tests.forge import description
from tests.unit.doubles.github.test_actions import *  # noqa: F403 - the same tests, watched
from tests.unit.doubles.github.test_checks import *  # noqa: F403 - the same tests, watched
from tests.unit.doubles.github.test_faults import *  # noqa: F403 - the same tests, watched
from tests.unit.doubles.github.test_protection import *  # noqa: F403 - the same tests, watched
from tests.unit.doubles.github.test_pulls import *  # noqa: F403 - the same tests, watched

pytestmark = pytest.mark.forge


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_path_is_githubs(route: object, watcher: description.Watcher) -> None:
    method, path = route.method, route.path  # type: ignore[attr-defined]
    assert description.operation(method, path) is not None


@pytest.mark.parametrize(
    ("method", "path", "code", "body", "said"),
    [
        ("GET", "~/pulls/{pull_number}", 200, {"number": "1"}, "is a required property"),
        ("GET", "~/pulls/{pull_number}", 299, {}, "answer 299"),
        ("DELETE", "~/git/refs/{ref}", 204, {"a": 1}, "has a body"),
        ("GET", "~/labels", 200, {"id": "x"}, 'is not of type "array"'),
    ],
)
def test_the_watcher_sees_what_is_wrong(
    watcher: description.Watcher, *, method: str, path: str, code: int, body: object, said: str
) -> None:
    full = path.replace("~", "/repos/{owner}/{repo}")
    route = next(r for r in ROUTES if (r.method, r.path) == (method, full))
    exchange = Exchange(
        request=Request(method=method, path=full),
        principal=NOBODY,
        route=route,
        answer=Answer(code=code, body=body),
        time=0,
    )
    watcher(exchange)
    assert any(said in wrong for wrong in watcher.wrong), watcher.wrong
