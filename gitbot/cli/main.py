"""The command group; each command's file is imported only when it is called."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from gitbot import __version__

# command -> (module, one-line help); modules are gitbot.cli.<module> with a click command `command`
COMMANDS: dict[str, tuple[str, str]] = {}


class LazyGroup(click.Group):
    """A group that imports a command's file only when the command is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All command names, in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return one command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"gitbot.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="gitbot %(version)s")
def cli() -> None:
    """GitOps for where virtual machines run."""


def main(argv: list[str] | None = None) -> Any:
    """Run the command line and exit with its code."""
    sys.exit(cli.main(args=argv, standalone_mode=True))
