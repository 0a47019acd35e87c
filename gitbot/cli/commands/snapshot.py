"""`gitbot snapshot`: the state of the cluster as one file that other commands accept."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from gitbot.cli.shared.options import ClusterAccess, cluster_options, load_snapshot, now_option
from gitbot.cli.shared.session import stages
from gitbot.errors import SnapshotError
from gitbot.model.cluster.cluster import ClusterSnapshot
from gitbot.wiring import replace_file


@click.command("snapshot")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to; - is stdout.")
@click.option("--name", default="", metavar="NAME", help="The cluster's name in the snapshot.")
@now_option
@cluster_options
def snapshot(access: ClusterAccess, output: str, name: str, now: int) -> None:
    """Write the state of a cluster, cut down to what placement needs, into one file.

    The file is JSON, packed with gzip; `gunzip -c < FILE` prints it.
    """
    from gitbot.snapshot import write_snapshot  # noqa: PLC0415 - msgspec only where used

    with stages("reading the cluster"):
        snapshot = load_snapshot(access.of(name=name), now=now)
    data = write_snapshot(snapshot)
    if output == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        _write(output, data)
    click.echo(_summary(snapshot), err=True)
    if not output.endswith((".gz", "-")):
        click.echo(f"{output} is gzip: `gunzip -c < {output}` prints its JSON", err=True)


def _write(name: str, data: bytes) -> None:
    """Replace the file in one step, so that nobody sees half a snapshot.

    A pipe, a device or a link to one is written to, never replaced.
    """
    path = Path(name)
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            replace_file(path, data)
    except OSError as error:
        raise SnapshotError(f"{name} cannot be written: {error.strerror}") from error


def _summary(snapshot: ClusterSnapshot) -> str:
    counts = {kind: len(snapshot.of(kind)) for kind in ("Node", "Pod", "VirtualMachineInstance")}
    words = (
        f"{snapshot.cluster}: {counts['Node']} nodes, {counts['Pod']} pods, "
        f"{counts['VirtualMachineInstance']} VMIs, {snapshot.digest}"
    )
    missing = (
        ("not served by this cluster", snapshot.absent_kinds),
        ("not read, the account may not list them", snapshot.denied_kinds),
    )
    return "\n".join([words, *(f"{why}: {', '.join(kinds)}" for why, kinds in missing if kinds)])
