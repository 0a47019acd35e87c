"""Tells the author of a merge that it broke a file, once, on its pull request."""

from __future__ import annotations

from gitbot.errors import ForgeError
from gitbot.model.text.canonical import short_digest
from gitbot.ports.forge import PullState
from gitbot.reports import escape
from gitbot.workflows.core.base_branch import broken_files
from gitbot.workflows.core.broken_files import BrokenFile
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.pulls.statuses import own_comment


def comment_on_broken_files(shell: RunContext) -> None:
    """One comment for each broken file. A failed write is reported, and the run continues."""
    broken = broken_files(shell)
    if not broken:
        return
    try:
        merged = shell.forge.list_pulls(state=PullState.MERGED)
        numbers = {pull.merge_commit: pull.number for pull in merged}
        for item in broken:
            if number := numbers.get(item.commit):
                _comment(shell, number, item)
    except ForgeError as error:
        shell.say(f"a broken file is not told to its author: {error}")


def _comment(shell: RunContext, number: int, item: BrokenFile) -> None:
    name = short_digest(f"{shell.cluster_name} {item.commit} {item.path}", 12)
    marker = f"<!-- gitbot:broken:{name} -->"
    if own_comment(shell.forge, number, marker):
        return
    lines = "\n".join(f"- {escape.markdown(str(error))}" for error in item.errors)
    body = (
        f"{marker}\n**{escape.code(item.place)} has errors on the base branch** "
        f"(by {escape.markdown(item.author)} in {item.commit[:12]}). "
        f"{escape.markdown(item.effect)}\n\n{lines}\n\n"
        "Running migrations end. A commit that repairs the file, or removes it, ends the stop.\n"
    )
    shell.forge.upsert_comment(number, marker=marker, body=body)
