"""`gitbot version`: the versions that decide gitbot's answers."""

from __future__ import annotations

import sys

import click

from gitbot import gitbot_version


@click.command()
def version() -> None:
    """Print the versions of gitbot, its time zones and its Python."""
    from gitbot.calendar import TZDATA_VERSION  # noqa: PLC0415 - only where it is asked for

    click.echo(f"gitbot {gitbot_version()}")
    click.echo(f"tzdata {TZDATA_VERSION}")
    click.echo(f"Python {sys.version.split()[0]}")
