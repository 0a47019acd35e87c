"""`gitbot site`: the page on the wall as files, for any web server or for a browser alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitbot.cli.shared.output import shipped_templates
from gitbot.cli.shared.session import open_read_only, running_options, say
from gitbot.errors import UsageError
from gitbot.model.text.wording import counted
from gitbot.wiring import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command("site")
@click.option("--out", required=True, metavar="DIR", help="The folder to write; made if needed.")
@click.option("--all-clusters", is_flag=True, help="Link the pages that other runs write, too.")
@running_options
def site(*, where: dict[str, str], out: str, all_clusters: bool) -> int:
    """Write what `status`, `get`, `calendar` and `ledger` say as pages that need no script.

    DIR/index.html lists all clusters, DIR/CLUSTER/ has the pages of one: status, maintenance,
    plans, map, rules, faults, calendar and history, each with its document as JSON. Run it again
    for each cluster; if each run has its own DIR, as in CI, give --all-clusters, and put the
    folders together. Only files that changed are written, and none is removed. The pages name
    nodes, VMs and people: publish them only where all that may be read. Exit codes as of `status`.
    """
    from gitbot.reports.site import fleet_files, site_files  # noqa: PLC0415 - jinja2 only where used
    from gitbot.workflows.ask import site_documents  # noqa: PLC0415 - keeps --help quick

    folder = Path(out)
    templates = shipped_templates()
    with open_read_only(where, human=False) as (shell, stale):
        shell.onlooker.begins("reading the cluster and the forge")
        documents = site_documents(shell)
        shell.onlooker.begins("writing the pages")
        name = shell.cluster_name
        changed = _write(folder / name, site_files(documents, templates=templates))
        there = [
            each
            for each in shell.clusters
            if all_clusters or (folder / each / "index.html").is_file()
        ]
        changed += _write(folder, fleet_files(documents.clusters, there, templates=templates))
    say(f"{folder / name / 'index.html'}: {counted(changed, 'file')} written")
    if documents.status.not_read:
        say(f"error: {name} could not be read: {documents.status.not_read}", err=True)
    if documents.status.not_read or stale:
        return 2
    return 0 if documents.healthy else 1


def _write(folder: Path, files: Mapping[str, bytes]) -> int:
    """Bring the files of a folder up to date; how many changed. Raises UsageError."""
    changed = 0
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = folder / name
            if not path.is_file() or path.read_bytes() != content:
                replace_file(path, content)
                changed += 1
    except OSError as error:
        raise UsageError(
            f"--out: {folder} cannot be written: {error.strerror}",
            hint="give a folder that you may write to",
        ) from error
    return changed
