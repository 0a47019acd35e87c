"""The double against GitHub's own description: its paths, and what gitbot's tests hear from it."""

import pytest

from tests.doubles.github.calls import Answer, Request
from tests.doubles.github.routes import ROUTES
from tests.doubles.github.service import Exchange
from tests.forge import description
from tests.unit.adapters.github.test_checks import *  # noqa: F403 - the same tests, watched
from tests.unit.adapters.github.test_diagnosis import *  # noqa: F403 - the same tests, watched
from tests.unit.doubles.test_github import *  # noqa: F403 - the same tests, watched

pytestmark = [pytest.mark.forge, pytest.mark.usefixtures("described")]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_path_is_githubs(route: object) -> None:
    method, path = route.method, route.path  # type: ignore[attr-defined]
    assert description.operation(method, path) is not None


@pytest.mark.parametrize(
    ("method", "path", "code", "body", "said"),
    [
        ("GET", "~/pulls/{pull_number}", 200, {"number": "1"}, 'is not of type "integer"'),
        (
            "GET",
            "~/pulls/{pull_number}",
            200,
            {"user": {"nick": "a"}},
            "GitHub knows no /user/nick",
        ),
        ("GET", "~/pulls/{pull_number}", 299, {}, "answer 299"),
        ("DELETE", "~/issues/comments/{comment_id}", 204, {"a": 1}, "has a body"),
        ("GET", "~/issues/{issue_number}/labels", 200, {"id": 1}, 'is not of type "array"'),
    ],
)
def test_the_watcher_sees_what_is_wrong(
    *, method: str, path: str, code: int, body: object, said: str
) -> None:
    full = path.replace("~", "/repos/{owner}/{repo}")
    route = next(r for r in ROUTES if (r.method, r.path) == (method, full))
    request = Request(method=method, path=full)
    watcher = description.Watcher()
    watcher(Exchange(request=request, route=route, answer=Answer(code=code, body=body)))
    assert any(said in wrong for wrong in watcher.wrong), watcher.wrong
