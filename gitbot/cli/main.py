"""The command group; each command's file is imported only when it is called."""

from __future__ import annotations

import errno
import gc
import importlib
import sys
from typing import NoReturn

import click

from gitbot import __version__
from gitbot.cli.examples import epilog
from gitbot.errors import GitbotError

# command -> (module, one-line help); modules are gitbot.cli.<module> with a click command `command`
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("demo", "Show the whole loop on an embedded cluster and a local forge."),
    "check": ("check", "Check intents as CI does: lint, plan, replay, policies."),
    "explain": ("explain", "Say where a VM or pod could run, and why not elsewhere."),
    "init": ("init", "Write a working example repository."),
    "lint": ("lint", "Find every error in configuration, intents and policies."),
    "plan": ("plan", "Show what gitbot would move now, and what it cannot move."),
    "policy": ("policy", "Test policies and list what is in force."),
    "render": ("render", "Print the objects that gitbot would create."),
    "schema": ("schema", "Print the JSON Schema of every kind and every JSON output."),
    "snapshot": ("snapshot", "Write the state of a cluster into one file."),
    "apply": ("apply", "Carry out everything that is approved and open now."),
    "propose": ("propose", "Open one quiet pull request for each concern."),
    "reconcile": ("reconcile", "Look, propose and apply, in one pass."),
    "status": ("status", "Show what runs, what waits and for what, what failed."),
    "ledger": ("ledger", "Show who moved what and why; verify the record."),
    "hold": ("hold", "Stop everything, now."),
    "resume": ("resume", "Take the stop flag away."),
    "cancel": ("cancel", "End one request."),
    "comment": ("comment", "Obey and answer a comment on a pull request."),
    "doctor": ("doctor", "Find what would keep gitbot from working, with its fix."),
    "returned": ("returned", "Say that a node is back from its maintenance."),
    "version": ("version", "Print the versions of gitbot, its time zones and its Python."),
}


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
        if not gc.isenabled():  # gitbot.__main__ turned it off: what is imported by now stays
            gc.freeze()
            gc.enable()
        command: click.Command = module.command
        command.epilog = epilog(cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing any."""
        if not COMMANDS:
            return
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="gitbot %(version)s")
def cli() -> None:
    """GitOps for where virtual machines run.

    Placement intents are YAML files in Git. gitbot plans the live migrations that make them true,
    shows the plan on the pull request, and carries it out on merge. No VM manifest is ever edited
    for maintenance.

    \b
    New here?     gitbot demo          the whole loop on an embedded cluster, in a minute
    A repository  gitbot init DIR      a working example to start from
    One question  gitbot explain VM    where could this VM run, and why not elsewhere

    Exit codes: 0 clean, 1 findings, 2 could not evaluate, 3 a bug in gitbot, 130 interrupted.
    """  # noqa: D301 - click reads the escape as "keep these lines as they are"


def main(argv: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code. No exception reaches a person as a traceback."""
    try:
        code = cli.main(args=argv, prog_name="gitbot", standalone_mode=False)
    except click.exceptions.Abort:
        _say("interrupted")
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except KeyboardInterrupt:
        _say("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        # the reader of a pipe went away (gitbot ... | head): not our failure, and nothing to add
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            _say(bug_report(error))
            sys.exit(3)
        _say(f"error: what was said could not be written: {error.strerror}")
        sys.stdout = None  # Python would try to write it again at its end
        sys.exit(2)
    except GitbotError as error:
        _say(f"error: {error}")
        sys.exit(error.exit_code)
    except Exception as error:  # noqa: BLE001 - the last line of defence against a traceback
        _say(bug_report(error))
        sys.exit(3)
    sys.exit(code if isinstance(code, int) else 0)


def bug_report(error: Exception) -> str:
    """What a person can paste into a bug report: no values of theirs, only where it happened."""
    import traceback  # noqa: PLC0415 - keeps --help quick

    frames = traceback.extract_tb(error.__traceback__)
    places = [f"  {_shown(frame.filename)}:{frame.lineno} in {frame.name}" for frame in frames]
    return "\n".join(
        [
            "error: this is a bug in gitbot; nothing more was done. Please report these lines:",
            f"  gitbot {__version__}, Python {sys.version.split()[0]}, {sys.platform}",
            f"  {type(error).__name__}: {error}",
            *places[-12:],
        ]
    )


def _shown(filename: str) -> str:
    for root in ("gitbot", "site-packages"):
        _, found, rest = filename.rpartition(f"/{root}/")
        if found:
            return f"{root}/{rest}" if root == "gitbot" else rest
    return filename.rpartition("/")[2]


def _say(text: str) -> None:
    click.echo(text, err=True)
