"""The pages that `gitbot serve` answers: of one pass as a whole, with its number and its age."""

from dataclasses import dataclass, replace

import pytest

from gitbot.cli.shared.live_pages import OLD, LivePages
from tests.unit.reports.site import NOW, documents
from tests.unit.reports.test_html import HOSTILE


@dataclass
class Clock:
    """What the time is."""

    time: int = NOW

    def now(self) -> int:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pages(clock: Clock) -> LivePages:
    return LivePages(clock.now)


def text(pages: LivePages, path: str = "iberia/index.html") -> str:
    return (pages.file(path) or b"").decode()


def test_before_the_first_pass_there_is_nothing_to_show(pages: LivePages) -> None:
    pages.failed("The last pass failed: no forge")
    assert pages.file("index.html") == b""


def test_every_page_says_its_pass_and_age(pages: LivePages, clock: Clock) -> None:
    pages.show(7, documents())
    clock.time += 130
    for path in ("index.html", "iberia/index.html", "iberia/map.html", "iberia/moves.html"):
        assert '<p class="note">Pass 7 looked 2 min 10 s ago.</p>' in text(pages, path)
    assert pages.file("iberia/nothing.html") is None
    assert b"age" not in (pages.file("iberia/index.json") or b"")


@pytest.mark.parametrize(
    ("age", "trouble", "words"),
    [
        (OLD, "", None),
        (OLD + 60, "", "Stale: pass 7 looked 16 min ago."),
        (60, "The last pass failed: a &#60; b", None),
    ],
)
def test_old_pages_say_so_in_words(
    pages: LivePages, clock: Clock, age: int, trouble: str, words: str | None
) -> None:
    pages.show(7, documents())
    clock.time += age
    if trouble:
        pages.failed("The last pass failed: a < b")
        words = f"Stale: pass 7 looked 1 min ago. {trouble}"
    found = text(pages)
    assert ("Stale" in found) is bool(words)
    assert words is None or f'<p class="stale">{words}</p>' in found


def test_the_next_pass_replaces_all_of_them(pages: LivePages) -> None:
    pages.show(1, documents())
    first = text(pages)
    pages.failed("The last pass failed: x")
    pages.show(2, documents(stop="held"))
    assert "Nothing starts: held" in text(pages)
    assert "Nothing starts" not in first
    assert "Stale" not in text(pages)


def test_a_page_is_drawn_once(pages: LivePages, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.show(1, documents())
    first = text(pages)
    monkeypatch.setattr("gitbot.reports.site.files.rendered", None)
    assert text(pages) == first


def test_a_name_is_never_the_place_of_the_age(pages: LivePages) -> None:
    pages.show(1, replace(documents(name="<!-- age -->"), zone="UTC"))
    for path in ("iberia/map.html", "iberia/index.html"):
        assert text(pages, path).count("Pass 1 looked") == 1
    pages.failed(HOSTILE)
    assert "<script" not in text(pages)
