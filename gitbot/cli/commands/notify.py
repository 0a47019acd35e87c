"""`gitbot notify`: the webhooks that get notices."""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex

import click

from gitbot.cli.shared.session import pick_cluster, say
from gitbot.errors import NoticeError, UsageError
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.wiring import SystemClock, find_root


@click.group("notify")
def notify() -> None:
    """The webhooks that get notices."""


@notify.command("test")
@click.option("--cluster", default="", metavar="NAME", help="Which cluster the notice names.")
def test(cluster: str) -> int:
    """Send one notice with event Test to each webhook, and print what each answered.

    It reads the configuration of this folder, and addresses and keys from the environment, as
    `gitbot reconcile` does. It needs no cluster and no forge. Exit code 1 if a webhook did not take
    it.
    """
    from gitbot.cli.shared.output import own_words  # noqa: PLC0415 - keeps --help quick
    from gitbot.published import sorted_bytes  # noqa: PLC0415
    from gitbot.reports.own_templates import NOTICE  # noqa: PLC0415
    from gitbot.wiring.workspace import post_notice, settings_here  # noqa: PLC0415
    from gitbot.workflows.watch import (  # noqa: PLC0415
        notice_in_words,
        notice_values,
        trial_notice,
    )

    settings = settings_here(find_root(Path.cwd()))
    if not settings.notify:
        raise UsageError(
            f"{CONFIGURATION_FILE} names no webhook",
            hint="write spec.notify, for instance: notify: [{name: oncall}]",
        )
    key = f"test/{token_hex(8)}"
    notice = trial_notice(pick_cluster(settings, cluster), now=SystemClock().now(), key=key)
    notice = notice_in_words(notice, own_words(NOTICE, lambda _: notice_values(notice)))
    failed = False
    for hook in settings.notify:
        try:
            answer = post_notice(hook.name, key, sorted_bytes(notice))
        except NoticeError as error:
            failed = True
            say(str(error))
        else:
            say(f"webhook {hook.name}: {answer}")
    return int(failed)
