"""Pull requests are listed as far as they matter, in an order in which none is lost."""

import pytest

from gitbot.adapters.forges.github import forge
from gitbot.adapters.forges.rest import api
from tests.unit.adapters.github.scripted import Reply, Request, forge_for, serving


def pull(number: int) -> dict[str, object]:
    side = {"ref": "x", "sha": "a" * 40, "repo": {"id": 1}}
    return {"number": number, "title": "t", "state": "closed", "head": side, "base": side}


@pytest.mark.parametrize(
    ("first", "listed", "pages"),
    [(1, 7, 4), (2, 6, 4), (3, 5, 3), (4, 4, 3), (5, 3, 2), (6, 2, 2), (7, 1, 1), (8, 0, 1)],
)
def test_it_ends_at_the_first_page_that_is_older_than_what_matters(
    monkeypatch: pytest.MonkeyPatch, first: int, listed: int, pages: int
) -> None:
    monkeypatch.setattr(api, "PAGE", 2)
    monkeypatch.setattr(forge, "PAGE", 2)

    def script(request: Request) -> Reply:
        number = int(request.query.get("page", "1"))
        numbers = sorted(range(1, 8), reverse=request.query["direction"] == "desc")
        query = "&".join(f"{key}={value}" for key, value in request.query.items() if key != "page")
        link = f'<{server.url}{request.path}?{query}&page={number + 1}>; rel="next"'
        more = {"Link": link} if number * 2 < len(numbers) else {}
        body = [pull(each) for each in numbers[number * 2 - 2 : number * 2]]
        return Reply(body=body, headers=more)

    with serving(script) as server:
        found = forge_for(server).list_pulls(first=first)
        assert [item.number for item in found] == list(range(first, 8))
        assert (len(found), len(server.seen)) == (listed, pages)
