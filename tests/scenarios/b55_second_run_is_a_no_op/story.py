"""Reconcile until nothing is left, then twice more: zero writes to cluster, forge and ledger."""

from pathlib import Path

from tests.doubles.customapp import customapp
from tests.doubles.intents import RULE
from tests.scenarios.clusters import START
from tests.scenarios.loop import Loop


def refs(loop: Loop) -> dict[str, str | None]:
    """Where the branches of the repository are."""
    loop.person.fetch()
    return {name: loop.person.resolve(name) for name in ("main", "gitbot/ledger")}


def story(folder: Path) -> str:
    """Tell the story."""
    loop = Loop.start(folder, customapp(step=3, start_time=START))
    loop.commit({"rule.yaml": RULE})
    loop.reconcile()
    (pull,) = loop.forge.list_pulls()
    loop.merge(pull.number)
    loop.reconcile()
    loop.say(f"databases: {sorted(loop.where('mssql2016').values())}")
    seen, writes = refs(loop), list(loop.port.writes)
    for _ in range(2):
        loop.port.sleep(600)
        assert loop.reconcile().did_nothing
    assert refs(loop) == seen
    assert loop.port.writes == writes
    return loop.end()
