"""`gitbot get`: what is declared, and how it is, as kubectl lists it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.options import GET_TYPES, LISTED, output_option, scope_options
from gitbot.cli.shared.output import document_text
from gitbot.cli.shared.session import open_read_only, running_options, say
from gitbot.errors import Bug, GitbotError, UsageError
from gitbot.wiring import find_root

if TYPE_CHECKING:
    from collections.abc import Callable

    from gitbot.kubernetes.selectors import Scope
    from gitbot.workflows.ask import Listing, Row
    from gitbot.workflows.core.context import RunContext

_NAMESPACED = ("intents", "requests", "rules", "moves", "vms")
_DECLARED = ("intents", "requests", "rules", "windows")  # read there, not in the working tree
CLUSTERS = "clusters"
_REST = 5  # seconds between two looks of -w
_LONGEST = 60  # characters of a cell of the table; -o wide cuts nothing


@click.command("get")
@click.argument("kind", metavar="|".join(GET_TYPES) + "[/NAME]")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("-w", "--watch", is_flag=True, help="Then print each row that changes.")
@scope_options
@output_option(LISTED, "table")
@running_options
def get(
    *,
    where: dict[str, str],
    kind: str,
    names: tuple[str, ...],
    watch: bool,
    scope: Scope,
    output: str,
) -> int:
    """List what is declared on the base branch, and how it is: state, health, age, next opening.

    Without -n, everything in all namespaces. With NAMEs only these. Objects without a namespace are
    listed with any -n. With -w the rows that change follow, until you stop it. `clusters` are shown
    as their bots published them; no cluster is read. Exit code 2 if a NAME does not exist, or if
    the cluster cannot be read; 1 if the base branch has errors.
    """
    from gitbot.workflows.ask import listing  # noqa: PLC0415 - keeps --help quick

    if watch and output not in ("table", "wide"):
        raise UsageError("-w prints a table", hint="leave -o out, or take -o wide")
    word, slash, name = kind.partition("/")  # TYPE/NAME, as kubectl takes it
    names = (name, *names) if slash and name else names
    chosen = _kind(word)
    if chosen == CLUSTERS and watch:
        raise UsageError("get clusters looks once", hint="leave -w out")
    if chosen == CLUSTERS:
        return show_clusters(output, names)

    def look() -> tuple[Listing, tuple[Row, ...]]:
        whole = listing(shell, chosen)
        wanted = (row for row in whole.rows if scope.holds(row.namespace, row.labels))
        return whole, tuple(row for row in wanted if not names or row.name in names)

    with open_read_only(where, human=output in ("table", "wide")) as (shell, stale):
        whole, rows = look()
        click.echo(_shown(replace(whole, rows=rows), output), nl=False)
        if watch:
            _follow(shell, look, rows, wide=output == "wide")
    missing = [name for name in names if name not in {row.name for row in rows}]
    for line in whole.broken:
        say(f"broken: {line}", err=True)
    if whole.not_read:
        say(f"the cluster could not be read: {whole.not_read}", err=True)
    if missing:
        place = f" on {shell.base_branch}" if chosen in _DECLARED else ""
        raise _not_found(chosen, missing, whole, place)
    if not rows and not whole.not_read:
        say(f"no {chosen} found{_meant_namespace(whole, scope)}", err=True)
    return 2 if whole.not_read or stale else int(bool(whole.broken))


def _follow(
    shell: RunContext,
    look: Callable[[], tuple[Listing, tuple[Row, ...]]],
    rows: tuple[Row, ...],
    *,
    wide: bool,
) -> None:
    """Print rows that are new, changed or gone, until interrupted; no heading, as kubectl -w."""
    known = {_key(row): row for row in rows}
    while True:
        shell.clock.sleep(_REST)
        try:
            whole, rows = look()
        except (Bug, UsageError):
            raise
        except GitbotError as error:
            say(f"not refreshed: {error}", err=True)
            continue
        now = {_key(row): row for row in rows}
        changed = [row for key, row in now.items() if _told(row) != _told(known.get(key))]
        changed += [replace(row, state="gone") for key, row in known.items() if key not in now]
        known = now
        if changed:
            text = _table(replace(whole, rows=tuple(changed)), wide=wide)
            click.echo(text.partition("\n")[2], nl=False)


def _key(row: Row) -> tuple[str, str, str]:
    return row.kind, row.namespace, row.name


def _told(row: Row | None) -> tuple[str, ...]:
    """The cells of a row that are news: not its age, and not how far away its opening is."""
    return () if row is None else (row.state, row.health, row.where, row.file)


def show_clusters(output: str, names: tuple[str, ...] = ()) -> int:
    """All clusters, or these, from the branches of the repository; no cluster is asked."""
    from gitbot.wiring.workspace import open_workspace  # noqa: PLC0415 - Git only where used
    from gitbot.workflows.ask import clusters_listing  # noqa: PLC0415 - keeps --help quick

    with open_workspace(find_root(Path.cwd()), forgiving=True) as workspace:
        whole = clusters_listing(
            workspace.settings,
            workspace.repository,
            workspace.ledger.read(),
            now=workspace.clock.now(),
        )
    rows = tuple(row for row in whole.rows if not names or row.name in names)
    click.echo(_shown(replace(whole, rows=rows), output), nl=False)
    missing = [name for name in names if name not in {row.name for row in rows}]
    if missing:
        raise _not_found(CLUSTERS, missing, whole)
    return 0


def _not_found(kind: str, missing: list[str], whole: Listing, place: str = "") -> UsageError:
    from gitbot.model.text.wording import meant  # noqa: PLC0415 - only for an error

    hint = meant(missing[0], [row.name for row in whole.rows])
    return UsageError(f"{kind}: not found{place}: {', '.join(missing)}", hint=hint)


def _meant_namespace(whole: Listing, scope: Scope) -> str:
    """What -n may have meant, where nothing is in the namespace that it names."""
    from gitbot.model.text.wording import nearest  # noqa: PLC0415 - only where nothing is found

    spaces = {row.namespace for row in whole.rows} - {""}
    if not scope.namespace or scope.namespace in spaces:
        return ""
    near = nearest(scope.namespace, sorted(spaces))
    return f"; did you mean -n {near}?" if near else ""


def _kind(text: str) -> str:
    word = text.lower()
    for kind, words in GET_TYPES.items():
        if word in (kind, *words):
            return kind
    from gitbot.model.text.wording import nearest  # noqa: PLC0415 - only for an error

    near = nearest(word, GET_TYPES)
    hint = f"did you mean {near}?" if near else f"expected {', '.join(GET_TYPES)}"
    raise UsageError(f"there is nothing called {text} to get", hint=hint)


def _shown(listing: Listing, output: str) -> str:
    if output == "name":
        from gitbot.workflows.ask import name_of_row  # noqa: PLC0415 - keeps --help quick

        return "".join(f"{name_of_row(row)}\n" for row in listing.rows)
    if output in ("table", "wide"):
        return _table(listing, wide=output == "wide")
    from gitbot.workflows.ask import listing_document  # noqa: PLC0415 - keeps --help quick

    return document_text(listing_document(listing), output)


def _table(listing: Listing, *, wide: bool) -> str:
    from gitbot.reports import columns  # noqa: PLC0415 - keeps --help quick

    head = ["NAMESPACE", "NAME", "STATE", "HEALTH", "AGE", "NEXT OPENING", "WHERE", "FILE"]
    rows = [_cells(row, listing, wide=wide) for row in listing.rows]
    kinds = listing.kind in ("intents", "windows", "rules")
    left = [] if listing.kind in _NAMESPACED else ["NAMESPACE"]
    left += ["NEXT OPENING"] if listing.kind == CLUSTERS else []
    left += ["WHERE"] if not any(row.where for row in listing.rows) else []
    left += ["FILE"] if not any(row.file for row in listing.rows) else []
    keep = [index for index, title in enumerate(head) if title not in left]
    more = list(listing.rows[0].more) if wide and listing.rows else []
    return columns(
        [*(["KIND"] if kinds else []), *(head[index] for index in keep), *more],
        [
            [
                *([row.kind] if kinds else []),
                *(cells[index] for index in keep),
                *(row.more[title] for title in more),
            ]
            for row, cells in zip(listing.rows, rows, strict=True)
        ],
    )


def _cells(row: Row, listing: Listing, *, wide: bool) -> list[str]:
    from gitbot.calendar import format_duration, local_text  # noqa: PLC0415 - keeps --help quick
    from gitbot.model.text.wording import shortened  # noqa: PLC0415

    opening = ""
    if row.opens is not None:
        now = row.opens.contains(listing.now)
        opening = "now" if now else f"{local_text(row.opens.start, listing.zone)} {listing.zone}"
    age = format_duration(max(0, listing.now - row.since)) if row.since else ""
    health = row.health if wide else shortened(row.health, _LONGEST)
    shown = row.opening or opening if wide else opening
    return [row.namespace, row.name, row.state, health, age, shown, row.where, row.file]
