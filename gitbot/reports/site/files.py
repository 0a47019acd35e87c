"""The files of one cluster's pages: HTML, and beside each page its document as JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from typing import Any

from jinja2 import Template
from markupsafe import Markup

from gitbot.calendar import format_duration, local_text
from gitbot.model.text.wording import counted
from gitbot.published import ListingItem, PublishedListing, json_text
from gitbot.reports import escape
from gitbot.reports.html.templates import compiled, parts_of, rendered
from gitbot.reports.site.board import board_page
from gitbot.reports.site.fault_tables import faults_page
from gitbot.reports.site.node_map import map_pages
from gitbot.reports.site.node_pages import node_pages
from gitbot.reports.site.page_model import (
    Cell,
    SiteDocuments,
    SitePage,
    Table,
    Tone,
    rows,
)
from gitbot.reports.site.plans import plans_page
from gitbot.reports.site.status_tables import glance, headline, status_tables

PAGE = "site.html.j2"
PARTS = (PAGE, "site_plan.html.j2", "report.css.j2", "site.css.j2", "site_plan.css.j2")
NAVIGATION = (
    ("index.html", "Status"),
    ("maintenance.html", "Maintenance"),
    ("plans.html", "Plans"),
    ("map.html", "Map"),
    ("rules.html", "Rules"),
    ("faults.html", "Faults"),
    ("calendar.html", "Calendar"),
    ("moves.html", "History"),
)
_AGE = "<!-- age -->"  # no name can be this: all text is escaped
_LOUD = ("stopped", "not seen")  # states of a cluster
_MOST = 1_000  # rows of a table; the document beside the page has all


Draw = Callable[[], bytes]


def site_files(documents: SiteDocuments, *, templates: Mapping[str, str]) -> dict[str, bytes]:
    """The content of each file of one cluster by its name. Same documents, same bytes."""
    return {path: draw() for path, draw in site_drawings(documents, templates=templates).items()}


def site_drawings(documents: SiteDocuments, *, templates: Mapping[str, str]) -> dict[str, Draw]:
    """As `site_files`, with what makes each content: for who needs few of them."""
    status = documents.status
    head = PageHead(
        cluster=status.cluster,
        mode=status.mode,
        commit=status.commit[:12],
        taken=_taken(status.now, documents.zone),
        home="../index.html",
        navigation=NAVIGATION,
    )
    return _drawings(_pages(documents), head, templates)


def fleet_files(
    clusters: PublishedListing, written: Collection[str], *, templates: Mapping[str, str]
) -> dict[str, bytes]:
    """The page of all clusters. It links those whose pages are `written`."""
    loud = sum(item.state in _LOUD for item in clusters.items)
    page = SitePage(
        path="index.html",
        title="clusters",
        headline=f"{counted(len(clusters.items), 'cluster')}, {loud} need a person",
        tone=Tone.CAREFUL if loud else Tone.GOOD,
        tables=(
            Table(
                title="Clusters",
                head=("cluster", "state", "about it", "its bot looked"),
                rows=rows(
                    (
                        Cell(
                            item.name,
                            link=f"{item.name}/index.html" if item.name in written else "",
                        ),
                        item.state,
                        item.health,
                        _taken(item.since, "UTC") if item.since else "never",
                    )
                    for item in clusters.items
                ),
            ),
        ),
        document=json_text(clusters),
    )
    head = PageHead(taken=_taken(clusters.now, "UTC"), home="index.html")
    return {path: draw() for path, draw in _drawings((page,), head, templates).items()}


def with_age(page: bytes, words: str, *, stale: bool) -> bytes:
    """A page that says how old it is, where a file of it says nothing."""
    kind = "stale" if stale else "note"
    return page.replace(_AGE.encode(), f'<p class="{kind}">{escape.html(words)}</p>'.encode(), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageHead:
    """What all pages of one folder say above their content."""

    taken: str
    home: str
    cluster: str = ""
    mode: str = ""
    commit: str = ""
    navigation: tuple[tuple[str, str], ...] = ()


def _drawings(
    pages: Iterable[SitePage], head: PageHead, templates: Mapping[str, str]
) -> dict[str, Draw]:
    template = _template(parts_of(templates, PARTS))
    fixed = {**asdict(head), "age": Markup(_AGE)}  # noqa: S704
    found: dict[str, Draw] = {}
    for page in pages:
        document = page.path.removesuffix(".html") + ".json"
        values = {**fixed, "page": page, "json": document}
        found[page.path] = partial(_drawn, template, values)
        found[document] = page.document.encode
    return found


def _drawn(template: Template, values: Mapping[str, Any]) -> bytes:
    return rendered(template, values).encode()


@lru_cache(maxsize=2)
def _template(parts: tuple[tuple[str, str], ...]) -> Template:
    return compiled(parts, PAGE)


def _taken(time: int, zone: str) -> str:
    return f"{local_text(time, zone)} {zone}"


def _pages(documents: SiteDocuments) -> Iterator[SitePage]:
    words, tone = headline(documents)
    yield SitePage(
        path="index.html",
        title="status",
        headline=words,
        tone=tone,
        note=glance(documents),
        tables=status_tables(documents),
        document=json_text(documents.status),
    )
    yield board_page(documents)
    yield plans_page(documents)
    yield from map_pages(documents.places)
    yield from node_pages(documents)
    yield _rules(documents)
    yield faults_page(documents)
    yield _calendar(documents)
    yield _moves(documents)


def _rules(documents: SiteDocuments) -> SitePage:
    rules = documents.rules
    broken = [item for item in rules.items if item.state == "broken"]
    unknown = [item for item in rules.items if item.state == "unknown"]
    said = f"{counted(len(broken), 'rule')} of {len(rules.items)} broken"
    return SitePage(
        path="rules.html",
        title="rules",
        headline=said if broken or not unknown else f"{len(unknown)} rules are not known",
        tone=Tone.BAD if broken else Tone.CAREFUL if unknown else Tone.GOOD,
        tables=(
            _rule_table("Broken", rules, broken, documents),
            _rule_table("Not known", rules, unknown, documents),
            _rule_table("Kept", rules, [i for i in rules.items if i.state == "kept"], documents),
        ),
        document=json_text(rules),
    )


def _rule_table(
    title: str,
    rules: PublishedListing,
    chosen: Sequence[ListingItem],
    documents: SiteDocuments,
) -> Table:
    tones = {"Broken": Tone.BAD, "Not known": Tone.CAREFUL}
    return Table(
        title=title,
        head=("rule", "what is wrong", "declared for", "file"),
        rows=rows(
            (
                f"{item.kind} {'/'.join(filter(None, (item.namespace, item.name)))}",
                documents.local(item.health),
                format_duration(max(0, rules.now - item.since)) if item.since else "",
                # a thousand addresses of what is well would be half of the page
                Cell(item.file, code=True) if title == "Kept" else documents.file(item.file),
            )
            for item in chosen[:_MOST]
        ),
        tone=tones.get(title, Tone.GOOD),
        open=title != "Kept",
    )


def _calendar(documents: SiteDocuments) -> SitePage:
    events = documents.calendar.events
    now = documents.calendar.now
    open_now = [event for event in events if event.start <= now and not event.cancelled]
    return SitePage(
        path="calendar.html",
        title="calendar",
        headline=f"{counted(len(open_now), 'event')} now, {len(events) - len(open_now)} ahead",
        tone=Tone.GOOD,
        tables=(
            Table(
                title="Windows, freezes and requests",
                head=("kind", "name", "when", "frozen by", "cancelled", "file"),
                rows=rows(
                    (e.kind, e.name, e.words, e.frozen, e.cancelled, Cell(e.file, code=True))
                    for e in events[:_MOST]
                ),
                empty="Nothing opens in this time.",
            ),
        ),
        document=json_text(documents.calendar),
    )


def _moves(documents: SiteDocuments) -> SitePage:
    history, zone = documents.moves, documents.zone
    failed = sum(move.state == "failed" for move in history.items)
    span = counted((history.now - history.after) // 86_400, "day")
    return SitePage(
        path="moves.html",
        title="history",
        headline=f"{counted(len(history.items), 'move')} in {span}, {failed} failed",
        tone=Tone.CAREFUL if failed else Tone.GOOD,
        tables=(
            Table(
                title="Who moved what, and why",
                head=("time", "VM", "from", "to", "took", "state", "by", "pull request", "why"),
                rows=rows(
                    (
                        f"{local_text(move.time, zone)} {zone}",
                        move.vm,
                        move.source,
                        move.to,
                        format_duration(move.seconds) if move.seconds else "",
                        ": ".join(filter(None, (move.state, documents.local(move.reason)))),
                        move.by,
                        f"#{move.pull_request}" if move.pull_request else "",
                        move.why,
                    )
                    for move in history.items[:_MOST]
                ),
                empty="Nothing moved in this time.",
            ),
        ),
        document=json_text(history),
    )
