"""The buttons of the local forge: open, list, show, approve, comment, team, merge, close.

A hosted forge has a web page for this; the local one is a bare Git repository. Run it with the
Python that gitbot is installed in; FORGE is the path of the bare repository:

    python local_forge.py FORGE list
    python local_forge.py FORGE open BRANCH --as ana --title "Move jumpbox"
    python local_forge.py FORGE merge 1 --as ana
    python local_forge.py FORGE comment 1 "/gitbot override quorum WHY" --as ann
    python local_forge.py FORGE team @acme/customapp ann dora

Exit code 2 where the forge refuses.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gitbot.adapters.clock import SystemClock
from gitbot.adapters.forges.local.forge import LocalForge
from gitbot.errors import GitbotError
from gitbot.ports.forge import MergeMethod, PullRequest

as_option = click.option("--as", "person", required=True, metavar="NAME", help="Who does it.")


@click.group(help="The buttons of the local forge.")
@click.argument("forge", type=click.Path(path_type=Path))
@click.pass_context
def buttons(context: click.Context, forge: Path) -> None:
    """Open the forge over a bare repository."""
    context.obj = LocalForge(forge, clock=SystemClock())


@buttons.command("list", help="All pull requests.")
@click.pass_obj
def list_all(forge: LocalForge) -> None:
    """One line each."""
    for pull in forge.list_pulls():
        say(pull)


@buttons.command("open", help="Open a pull request for a branch that is pushed.")
@click.argument("branch")
@click.option("--title", required=True)
@as_option
@click.pass_obj
def open_one(forge: LocalForge, branch: str, title: str, person: str) -> None:
    """Into main."""
    mine = forge.acting_as(person)
    say(mine.open_pull(branch=branch, base_branch="main", title=title, body="", labels=()))


@buttons.command("show", help="One pull request with its statuses and comments.")
@click.argument("number", type=int)
@click.pass_obj
def show(forge: LocalForge, number: int) -> None:
    """As its page would."""
    pull = forge.get_pull(number)
    say(pull)
    for status in forge.list_statuses(pull.head):
        click.echo(f"status {status.context}: {status.state}: {status.description}")
    for comment in forge.list_comments(number):
        click.echo(f"\n{comment.author}:\n{comment.body}")


@buttons.command("approve", help="Approve the present head.")
@click.argument("number", type=int)
@as_option
@click.pass_obj
def approve(forge: LocalForge, number: int, person: str) -> None:
    """A review of the present head."""
    forge.approve_pull(number, reviewer=person)
    say(forge.get_pull(number))


@buttons.command("team", help="Set the members of a team (@org/team); no name removes it.")
@click.argument("name")
@click.argument("people", nargs=-1)
@click.pass_obj
def team(forge: LocalForge, name: str, people: tuple[str, ...]) -> None:
    """Who approves for the owners of that name."""
    forge.name_team(name, people)
    click.echo(f"{name}: {', '.join(people) or 'removed'}")


@buttons.command("comment", help="Comment; what begins with /gitbot is a command.")
@click.argument("number", type=int)
@click.argument("text")
@as_option
@click.pass_obj
def comment(forge: LocalForge, number: int, text: str, person: str) -> None:
    """Says what to type, so that gitbot does it: no workflow reads comments here."""
    said = forge.acting_as(person).upsert_comment(number, marker=text, body=text)
    click.echo(f"next: gitbot comment --issue {number} --comment {said.id}")


@buttons.command("merge", help="Merge into main, by a merge commit.")
@click.argument("number", type=int)
@as_option
@click.pass_obj
def merge(forge: LocalForge, number: int, person: str) -> None:
    """Approves what gitbot showed."""
    head = forge.get_pull(number).head
    mine = forge.acting_as(person)
    say(mine.merge_pull(number, method=MergeMethod.MERGE, expected_head=head))


@buttons.command("close", help="Close without merging.")
@click.argument("number", type=int)
@click.pass_obj
def close(forge: LocalForge, number: int) -> None:
    """Approves nothing."""
    forge.close_pull(number)
    say(forge.get_pull(number))


def say(pull: PullRequest) -> None:
    """One line about a pull request."""
    click.echo(f"{pull.number} {pull.state} {pull.branch} by {pull.author}: {pull.title}")


if __name__ == "__main__":
    try:
        buttons()
    except GitbotError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(2)
