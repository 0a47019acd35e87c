"""The command group; a command's file is imported only when the command is called."""

from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import re
import sys
from typing import TYPE_CHECKING, NoReturn

import click

from gitbot import gitbot_version
from gitbot.errors import GitbotError, UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# The cycle collector runs after so many new values. A pass over 4,000 VMs makes millions of values
# and hardly a cycle: with CPython's default, 700, a third of its time went into the collector.
COLLECT_AFTER = 200_000

# command -> one-line help; `gitbot.cli.commands.<command>` has a click command of that name
COMMANDS: dict[str, str] = {
    "demo": "Show the whole loop on an embedded cluster and a local forge.",
    "check": "Check intents as CI does: lint, plan, replay, policies.",
    "explain": "Say where a VM or pod could run, and why not elsewhere.",
    "init": "Write a working example repository.",
    "lint": "Find every error in configuration, intents and policies.",
    "move": "Ask for the move of a VM, in a pull request.",
    "drain": "Ask for nodes to be emptied, in a pull request.",
    "keep-apart": "Ask for VMs to stay apart, in a pull request.",
    "keep-together": "Ask for VMs to stay together, in a pull request.",
    "freeze": "Ask for a time in which nothing moves, in a pull request.",
    "undo": "Ask for the VMs of a request to go back, in a pull request.",
    "pulls": "List the open pull requests, or show one.",
    "merge": "Merge a pull request of the local forge.",
    "approve": "Approve a pull request of the local forge.",
    "close": "Close a pull request of the local forge.",
    "audit": "Find what is broken in the cluster, no matter who declared it.",
    "simulate": "Say what would happen if nodes were lost, emptied or changed.",
    "plan": "Show what gitbot would move now, and what it cannot move.",
    "diff": "Show what merging this folder would move.",
    "policy": "Test policies and list what is in force.",
    "render": "Print the objects that gitbot would create.",
    "schema": "Print the JSON Schema of every kind and every JSON output.",
    "snapshot": "Write the state of a cluster into one file.",
    "apply": "Carry out everything that is approved and open now.",
    "propose": "Open one quiet pull request for each concern.",
    "reconcile": "Look, propose and apply, in one pass.",
    "serve": "Reconcile again and again, with metrics and pages on a port.",
    "site": "Write status, map, rules, calendar and history as pages.",
    "status": "Show what runs, waits, failed, is away and opens next.",
    "get": "List intents, requests, windows, rules, moves, nodes or VMs.",
    "describe": "Say all about one VM, request, window, rule or node.",
    "calendar": "Show when windows open, what freezes, and a month of it.",
    "ledger": "Show who moved what and why; verify the record.",
    "hold": "Stop everything, now.",
    "resume": "Take the stop flag away.",
    "cancel": "End one request.",
    "comment": "Obey and answer a comment on a pull request.",
    "notify": "Send a test notice to each webhook.",
    "doctor": "Find what would keep gitbot from working, with its fix.",
    "returned": "Say that a node is back from its maintenance.",
    "wait": "Wait until a node is ready or back, or a request has succeeded.",
    "version": "Print the versions of gitbot, its time zones and its Python.",
    "help": "Show the help of gitbot or of a command.",
    "completion": "Print the completion script of bash, zsh or fish.",
}


_FILES = {  # of commands that share one
    "diff": "plan",
    **dict.fromkeys(("approve", "close", "merge"), "pulls"),
    **dict.fromkeys(("keep_apart", "keep_together"), "keep"),
}

# what people type who know kubectl, Git or another tool, and what does it here
_TYPES = ("intents", "requests", "windows", "rules", "moves", "nodes", "vms", "clusters")
MEANT = {
    **{name: f"gitbot get {kind}" for kind in _TYPES for name in (kind, kind.removesuffix("s"))},
    "balance": "a BalanceRule in a pull request; gitbot schema BalanceRule",
    "continue": "gitbot resume",
    "cordon": "gitbot drain NODE --cordon",
    "delete": "gitbot cancel REQUEST, or remove its file in a pull request",
    "evacuate": "gitbot drain NODE",
    "evict": "gitbot move vm/NAME --away",
    "events": "gitbot ledger show --all",
    "history": "gitbot ledger show",
    "list": "gitbot get TYPE",
    "log": "gitbot ledger show",
    "logs": "gitbot ledger show, or gitbot status",
    "lose": "gitbot simulate lose NODE",
    "ls": "gitbot get TYPE",
    "maintenance": "gitbot drain NODE",
    "migrate": "gitbot move vm/NAME",
    "migrations": "gitbot get moves",
    "pause": "gitbot hold",
    "rebalance": "a BalanceRule in a pull request; gitbot schema BalanceRule",
    "revert": "gitbot undo REQUEST",
    "rollback": "gitbot undo REQUEST",
    "spread": "gitbot keep-apart VM...",
    "start": "gitbot resume",
    "stop": "gitbot hold",
    "uncordon": "kubectl uncordon NODE; gitbot returned NODE says that a node is back",
    "unfreeze": "remove the file of the FreezeWindow in a pull request",
    "unpause": "gitbot resume",
}


class _ReaderGoneError(Exception):
    """Nobody reads the pipe (gitbot ... | head): no error. click would make exit code 1 of it."""


class LazyGroup(click.Group):
    """A group that imports a command's file only when the command is called."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise _ReaderGoneError from error

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._command_first(ctx, args))

    def _command_first(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-n a move vm/b` as `move -n a vm/b`: options may come before their command."""
        if not args or not args[0].startswith("-") or ctx.resilient_parsing:
            return args
        for index, word in enumerate(args):
            command = self.get_command(ctx, word) if index else None
            if command is None:
                continue
            following = args[index + 1] if index + 1 < len(args) else ""
            below = getattr(command, "commands", {}).get(following)
            end = index + 1 + (below is not None)
            if _are_options(args[:index], below or command):
                return [*args[index:end], *args[:index], *args[end:]]
        return args

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands from their list: a Tab imports none of them."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only for a Tab

        return [
            *(CompletionItem(name) for name in COMMANDS if name.startswith(incomplete)),
            *click.Command.shell_complete(self, ctx, incomplete),
        ]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = importlib.import_module(f"gitbot.cli.commands.{_FILES.get(name, name)}")
        if not gc.isenabled():  # gitbot.__main__ turned it off: keep what is imported by now
            gc.freeze()
            gc.set_threshold(COLLECT_AFTER)
            gc.enable()
        command: click.Command = getattr(module, name)
        command.epilog = epilog(cmd_name)
        for part, below in getattr(command, "commands", {}).items():
            below.epilog = epilog(cmd_name, part)
        if ctx.resilient_parsing:  # a Tab in a shell
            from gitbot.cli.shared.shell_completion import complete_names  # noqa: PLC0415

            complete_names(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            from gitbot.model.text.wording import nearest  # noqa: PLC0415 - only for an error

            near = nearest(args[0], COMMANDS)
            hint = f"did you mean {near}?" if near else "gitbot --help lists them"
            raise UsageError(
                f"there is no command {args[0]}", hint=MEANT.get(args[0].lower(), hint)
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        if not COMMANDS:
            return
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _are_options(words: list[str], command: click.Command) -> bool:
    """Whether the words are options of the command, each with its value."""
    known = {flag: param for param in command.params for flag in param.opts}
    left = list(words)
    while left:
        flag, equals, _ = left.pop(0).partition("=")
        param = known.get(flag)
        if param is None:
            return False
        if not equals and not getattr(param, "is_flag", False):
            if not left:
                return False
            left.pop(0)
    return True


def _print_version(context: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not context.resilient_parsing:
        click.echo(f"gitbot {gitbot_version()}")
        context.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
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
    """Run the command line and exit with its code. People never see a traceback."""
    _prepare_streams()
    try:
        code = cli.main(args=argv, prog_name="gitbot", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _say("interrupted")
        sys.exit(130)
    except click.exceptions.NoArgsIsHelpError as error:  # a group alone asks what it can do
        click.echo(error.format_message())
        sys.exit(0)
    except click.ClickException as error:
        _say(f"error: {_usage(error)}")
        sys.exit(2)
    except _ReaderGoneError:
        sys.stdout = sys.stderr = None  # Python would try to write the rest at its end
        sys.exit(141)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and error.filename is None:  # from os.getcwd()
            no_room = "temporary" in str(error)  # from tempfile, which tries them all
            _say(f"error: {_NO_ROOM if no_room else _NO_FOLDER}")
            sys.exit(2)
        if error.errno not in _UNWRITTEN:
            _say(bug_report(error))
            sys.exit(3)
        _say(f"error: the output could not be written: {error.strerror}")
        sys.stdout = None  # Python would try to write it again at its end
        sys.exit(2)
    except GitbotError as error:
        _say(f"error: {error}")
        sys.exit(error.exit_code)
    except Exception as error:  # noqa: BLE001 - the last line of defence against a traceback
        _say(bug_report(error))
        sys.exit(3)
    sys.exit(code if isinstance(code, int) else 0)


def _prepare_streams() -> None:
    """None is missing, and output is UTF-8 in every locale: documents are, and tables have `→`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by who started gitbot; no file may get its number
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115, PTH123 - open until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


_NO_FOLDER = "the folder that you are in was removed; cd to one that is there"
_NO_ROOM = "no folder takes temporary files: set TMPDIR to one with room that you may write"
_UNWRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EBADF)
_SHORT = re.compile("-[^-]")
_OTHER_WORDS = {"--start": "--from", "--from": "--start", "--until": "--for", "--for": "--until"}
_FOUND = re.compile(r"'([^']*)' is not one of ")  # click's words for a wrong choice


def _usage(error: click.ClickException) -> str:
    """What click found wrong, in the words of every other error: what, and then what to do."""
    context = getattr(error, "ctx", None)
    how = f"{context.command_path} --help shows how" if context is not None else ""
    if context is not None and isinstance(error, click.NoSuchOption):
        known = [flag for param in context.command.params for flag in param.opts]
        other = _OTHER_WORDS.get(error.option_name, "")
        how = f"did you mean {other}?" if other in known else _of_parts(context, error, how)
        return _unknown("option", error.option_name, known, how)
    command = getattr(error, "command_name", "")  # click 8.4
    if command and context is not None and isinstance(context.command, click.Group):
        known = context.command.list_commands(context)
        return _unknown("command", f"{context.info_name} {command}", known, how)
    text = error.format_message().rstrip(".")
    choice = error.param.type if isinstance(error, click.BadParameter) and error.param else None
    if isinstance(choice, click.Choice) and (found := _FOUND.match(error.message)):
        from gitbot.model.text.wording import ALIKE, nearest  # noqa: PLC0415 - only for an error

        near = nearest(found[1], [str(word) for word in choice.choices], cutoff=ALIKE)
        how = f"did you mean {near}?" if near else how
    return f"{text}; {how}" if how else text


def _of_parts(context: click.Context, error: click.NoSuchOption, how: str) -> str:
    """Which command of a group has the option, if one does; else `how`."""
    for name, part in getattr(context.command, "commands", {}).items():
        if any(error.option_name in param.opts for param in part.params):
            return f"did you mean {context.command_path} {name} {error.option_name}?"
    return how


def _unknown(kind: str, word: str, known: list[str], how: str) -> str:
    """The dashes of options count for nothing: `--time-zone` is not near `--action`."""
    from gitbot.model.text.wording import ALIKE, nearest  # noqa: PLC0415 - only for an error

    bare = {flag.lstrip("-"): flag for flag in reversed(known) if not _SHORT.fullmatch(flag)}
    asked = word.rsplit(maxsplit=1)[-1].lstrip("-")
    begun = next((name for name in bare if len(asked) > 1 and name.startswith(asked)), None)
    near = bare.get(begun or nearest(asked, bare, cutoff=ALIKE) or "")
    return f"there is no {kind} {word}; {f'did you mean {near}?' if near else how}"


def bug_report(error: Exception) -> str:
    """What a person can paste into a bug report: where it happened, and none of their values."""
    import traceback  # noqa: PLC0415 - keeps --help quick

    frames = traceback.extract_tb(error.__traceback__)
    places = [f"  {_shown(frame.filename)}:{frame.lineno} in {frame.name}" for frame in frames]
    return "\n".join(
        [
            "error: this is a bug in gitbot; nothing more was done. Please report these lines:",
            f"  gitbot {gitbot_version()}, Python {sys.version.split()[0]}, {sys.platform}",
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
    try:
        click.echo(text, err=True)
    except OSError:  # a full disk: only the exit code can say it
        sys.stderr = None


_COMMIT = "0123456789abcdef0123456789abcdef01234567"
EXAMPLES: dict[str, tuple[str, ...]] = {
    "apply": ("gitbot apply --dry-run", "gitbot apply --wait-for-opening 1200"),
    "approve": ("gitbot approve 1",),
    "close": ("gitbot close 1",),
    "describe": ("gitbot describe vm/jumpbox -n customapp", "gitbot describe node/kni-worker5"),
    "freeze": ('gitbot freeze --from "2026-12-28 18:00" --until "2027-01-04 06:00"',),
    "merge": ("gitbot merge 1",),
    "pulls": ("gitbot pulls", "gitbot pulls 1"),
    "undo": ("gitbot undo request/customapp/make-room",),
    "wait": ("gitbot wait node/kni-worker5 --for ready --timeout 2h",),
    "audit": (
        "gitbot audit --snapshot cluster.json.gz",
        "gitbot audit -n customapp --rule mssql2016 -o sarif",
    ),
    "calendar": (
        "gitbot calendar --snapshot cluster.json.gz",
        "gitbot calendar -n customapp --from 2026-12-01 --until 2027-03-01 -o wide",
    ),
    "cancel": ('gitbot cancel request/customapp/make-room --reason "no longer needed"',),
    "check": (
        "gitbot check --base main --snapshot cluster.json.gz",
        "gitbot check --pull-request 1 --publish",
        "gitbot check --base main --published --reports reports",
    ),
    "comment": ("gitbot comment --issue 12 --comment 2034567890",),
    "completion": ("gitbot completion bash > ~/.local/share/bash-completion/completions/gitbot",),
    "doctor": ("gitbot doctor", "gitbot doctor --without-cluster -o json"),
    "drain": (
        "gitbot drain kni-worker5 --start 22:00 --for 4h --return Auto",
        "gitbot drain kni-worker5 --dry-run",
    ),
    "explain": (
        "gitbot explain vm/jumpbox -n customapp --snapshot cluster.json.gz",
        "kubectl get nodes,pods -A -o yaml | gitbot explain pod/stress --snapshot -",
        "gitbot explain --request customapp/make-room",
    ),
    "get": (
        "gitbot get windows",
        "gitbot get rules -n customapp -o wide",
        "gitbot get vms -o name",
    ),
    "help": ("gitbot help", "gitbot help move", "gitbot help intents/unknown-field"),
    "hold": ('gitbot hold --reason "storage is slow" --cancel-running',),
    "init": (
        "gitbot init placement --cluster prod",
        f"gitbot init --forge github --repository acme/placement --action acme/gitbot@{_COMMIT}",
    ),
    "keep-apart": (
        "gitbot keep-apart -l app=mssql2016 -n customapp --zones",
        "gitbot keep-apart vm/db-0 vm/db-1 vm/db-2 -n shop --nodes",
    ),
    "keep-together": ("gitbot keep-together vm/web vm/cache -n shop --nodes",),
    "ledger": (
        'gitbot ledger show --since "last month" --until "this month"',
        "gitbot ledger show --since 2026-10-01 --vm customapp/jumpbox -o csv",
        "gitbot ledger verify",
        "gitbot ledger adopt --former prod",
        "gitbot ledger prove request/customapp/jumpbox",
    ),
    "lint": ("gitbot lint", "gitbot lint --rev HEAD -o sarif"),
    "move": (
        'gitbot move vm/jumpbox -n customapp --zone scu --note "make room"',
        "gitbot move vm/jumpbox -n customapp --to kni-worker2 --dry-run",
    ),
    "diff": (
        "gitbot diff    # before git push",
        "gitbot diff --rev HEAD --base origin/release",
    ),
    "notify": ("gitbot notify test",),
    "plan": (
        "gitbot plan --snapshot cluster.json.gz -o json",
        "gitbot plan --at 2026-12-06T21:00:00Z",
    ),
    "policy": (
        "gitbot policy list",
        "gitbot policy test policies",
        "gitbot policy explain blast-radius",
        "gitbot policy eval \"vm.name.startsWith('db-')\" --snapshot cluster.json.gz",
    ),
    "propose": ("gitbot propose",),
    "reconcile": ("gitbot reconcile --watch --every 300 --health-file /tmp/health",),
    "render": ("gitbot render --kind virtualmachineinstancemigration --snapshot cluster.json.gz",),
    "resume": ('gitbot resume --reason "storage is well again"',),
    "returned": ("gitbot returned kni-worker5",),
    "schema": ("gitbot schema MigrationRequest", "gitbot schema --all --folder .schemas"),
    "serve": ("gitbot serve", "gitbot serve --listen 0.0.0.0:8080 --every 300"),
    "simulate": (
        "gitbot simulate lose --zone scu --snapshot cluster.json.gz",
        "gitbot simulate drain node-a node-b -o json",
        "gitbot simulate reboot --away PT15M",
        "gitbot simulate grow vm/web -n shop --by 20",
        "gitbot simulate label node-b topology.kubernetes.io/zone=a",
        "gitbot simulate rule new-rule.yaml",
        "gitbot simulate survive --of Node --of Zone",
    ),
    "snapshot": ("gitbot snapshot -o cluster.json.gz",),
    "site": ("gitbot site --out public", "gitbot site --out public --cluster iberia"),
    "status": (
        "gitbot status",
        "gitbot status -w",
        "gitbot status request/customapp/make-room -o yaml",
    ),
    "version": ("gitbot version",),
}


def epilog(command: str, part: str = "") -> str | None:
    """The end of the help of a command or a part of it; None if its text has examples already."""
    begin = f"gitbot {command} {part}".rstrip()
    lines = [line for line in EXAMPLES.get(command, ()) if not part or line.startswith(begin)]
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)]) if lines else None
