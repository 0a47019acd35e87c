"""A request in the wrong folder, then in the right one; refused, approved by its owners, moved."""

import re
from pathlib import Path

from gitbot.cli.shared.status_page import table
from gitbot.model.ledger.events import MoveApproved
from gitbot.workflows.ask import status
from tests.unit.workflows.tenants import FILE, KINDS, NAMED, OWNERS, Tenants, tenants

WRONG = "intents/iberia/payments/jump.yaml"
MORE = """  - paths: [intents/iberia/payments]
    namespaces: [payments]
    teams: ['@acme/payments']
"""


def story(folder: Path) -> dict[str, str]:
    """What happened on each forge, line by line."""
    return {f"{kind}.txt": told(kind, folder / kind) for kind in KINDS}


def told(kind: str, folder: Path) -> str:
    folder.mkdir()
    with tenants(kind, folder, owners=f"{OWNERS}{MORE}") as scene:
        lines = ["bob writes the request into the folder of payments"]
        wrong = scene.open("bob", {WRONG: NAMED}, branch="wrong").number
        lines += checks(scene, wrong)
        scene.forge.close_pull(wrong)
        lines.append("bob writes it into the folder of customapp")
        number = scene.open("bob", {FILE: NAMED}).number
        lines += checks(scene, number)
        lines += [line for line in scene.comment(number).splitlines() if "owner's" in line]
        lines.append("olga approves, and ann merges")
        scene.approve(number, "olga")
        scene.refresh()
        lines += checks(scene, number)
        scene.merge(number, by="ann")
        lines += applied(scene, number)
        lines.append("dora approves after the merge")
        scene.approve(number, "dora")
        lines += applied(scene, number)
        approved = [e for e in scene.store.read().events if isinstance(e, MoveApproved)]
        lines += [f"ledger: {e.request} approved by {', '.join(e.approvers)}" for e in approved]
    return "".join(f"{line}\n" for line in lines)


def checks(scene: Tenants, number: int) -> list[str]:
    """The checks of a pull request, without the digests of plans."""
    found = []
    for name in ("gitbot/plan", "gitbot/policy", "gitbot/owners", "gitbot/apply"):
        state, words = scene.check(number, name)
        if state:
            found.append(f"  {name} {state}: {re.sub(r' [(]plan [0-9a-f]+[)]', '', words)}")
    return found


def applied(scene: Tenants, number: int) -> list[str]:
    """One pass of apply, the check on the merged head, and the page of status."""
    states = scene.apply().states
    page = table(status(scene.shell)).split("\n\n")[0]
    return [
        f"apply: {states or 'nothing moves'}; the jumpbox is on {scene.where()}",
        *checks(scene, number)[-1:],
        *(f"  status: {line}" for line in page.splitlines()),
    ]
