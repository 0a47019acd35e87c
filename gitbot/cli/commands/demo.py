"""`gitbot demo`: the whole loop on an embedded cluster and a local forge."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.session import colour
from gitbot.errors import UsageError
from gitbot.model.text.names import CONFIGURATION_FILE

if TYPE_CHECKING:
    from gitbot.wiring.demo import Stage


@click.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    help="Keep everything in this new folder, or start again in that of a demo that was killed; "
    "default: a temporary one, removed at the end.",
)
@click.option("--serve", is_flag=True, help="Leave the simulated cluster running afterwards.")
@click.option(
    "--factor",
    type=click.IntRange(1, 1000),
    default=10,
    show_default=True,
    help="With --serve: how many seconds pass in the cluster for each of yours.",
)
@click.option("--no-story", is_flag=True, help="With --serve: start the cluster, play nothing.")
def demo(folder: Path | None, serve: bool, factor: int, no_story: bool) -> None:
    """Show the whole loop: intents, pull request, plan, merge, migrations, healing.

    Starts a simulated KubeVirt cluster (three zones, three databases, a jumpbox) behind a real
    Kubernetes API on 127.0.0.1, and a forge that is a bare Git repository. Needs no setup, touches
    nothing outside its folder, stops everything at the end.

    \b
    gitbot demo                  the story, in under a minute
    gitbot demo --serve          the story, then the cluster stays for kubectl
    gitbot demo --dir /tmp/demo  keep repository, report and kubeconfig to look at
    gitbot demo --serve --no-story --factor 1
                                 a fresh cluster with your clock, for gitbot itself to act on
    """  # noqa: D301 - click reads the escape as "keep these lines as they are"
    if no_story and not serve:
        raise UsageError("--no-story needs --serve")
    kept = folder is not None or serve
    stop = _Stop()
    from gitbot.wiring.demo import demo_folder  # noqa: PLC0415

    with demo_folder(folder) as place:
        _play(place, stop, serve=serve, factor=factor, story=not no_story, kept=kept)


def _play(place: Path, stop: _Stop, *, serve: bool, factor: int, story: bool, kept: bool) -> None:
    from gitbot.cli.shared.demo_story import CONFIGURATION, READ_ME, tell  # noqa: PLC0415
    from gitbot.wiring.demo import stage  # noqa: PLC0415

    started = time.monotonic()
    files = {CONFIGURATION_FILE: CONFIGURATION, "README.md": READ_ME}
    with stage(place, files, say=click.echo) as made:
        if story:
            tell(made, say=click.echo, colour=colour())
            click.echo(f"\nDone in {time.monotonic() - started:.0f} s.\n")
        if serve:
            # gitbot acts on no cluster whose clock differs from ours
            _serve(made, stop, factor=factor, first_steps=factor == 1 and not story)
    if not serve:
        _where_next(place if kept else None)


def _serve(made: Stage, stop: _Stop, *, factor: int, first_steps: bool) -> None:
    stop.expected = True
    clock = f"runs {factor} times as fast as yours" if factor > 1 else "is yours"
    click.echo(f"The cluster is at {made.face.url}, its clock {clock}.")
    click.echo(f"\n  export KUBECONFIG={made.kubeconfig}")
    click.echo("  kubectl get nodes,pods,vmi,vmim -A\n")
    click.echo(f"Its folder is {made.folder}: clone/ has the intents, placement.git is the forge.")
    if first_steps:
        _first_steps(made)
    else:
        click.echo(
            "gitbot starts nothing where the clock differs; to use it, start a cluster with yours:"
        )
        click.echo(f"  {_program()} demo --serve --no-story --factor 1\n")
    click.echo("Ctrl-C (or SIGTERM) stops it.")
    sys.stdout.flush()
    runner = made.runner(factor=factor, monotonic=time.monotonic)
    runner.start()
    stop.wait()
    runner.stop()
    click.echo("stopped")


def _first_steps(made: Stage) -> None:
    gitbot = str(Path(_program()).absolute()) if _program() != "gitbot" else "gitbot"
    click.echo("Your first own migration, in another terminal, with KUBECONFIG as above:\n")
    click.echo(f"  cd {made.folder}/clone && {gitbot} move vm/jumpbox -n customapp --away")
    click.echo(f"  {gitbot} check --pull-request 1 --publish")
    click.echo(f"  {gitbot} merge 1 && {gitbot} apply\n")


def _where_next(place: Path | None) -> None:
    gitbot = _program()
    click.echo("Where to look next:")
    if place is not None:
        click.echo(f"  {place}/report.html      the plan as a page, with pictures")
        click.echo(f"  git -C {place}/placement.git log --oneline --graph main gitbot/ledger")
    click.echo(f"  {gitbot} demo --serve      the same, and the cluster stays for kubectl")
    click.echo(f"  {gitbot} init placement    a repository of your own to start from")
    click.echo(f"  {gitbot} explain --help    where could a VM run, and why not elsewhere")


def _program() -> str:
    """The command to type for gitbot here: `make demo` runs without an activated environment."""
    beside = Path(sys.executable).parent / "gitbot"
    if shutil.which("gitbot") is not None or not beside.exists():
        return "gitbot"
    return str(beside.relative_to(Path.cwd())) if beside.is_relative_to(Path.cwd()) else str(beside)


class _Stop:
    def __init__(self) -> None:
        self._asked = threading.Event()
        self.expected = False  # True: a request to stop is the ordinary end
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)

    def wait(self) -> None:
        self._asked.wait()

    def _on_signal(self, *_signal: object) -> None:
        self._asked.set()
        if not self.expected:
            raise KeyboardInterrupt
