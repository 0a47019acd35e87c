"""Somebody else takes the room at home."""

from pathlib import Path

from tests.doubles.problems import pod
from tests.scenarios.maintenance import (
    begun,
    pulls,
    reboot,
    tell,
    tell_status,
    two_nodes,
    until,
    window,
)


def story(folder: Path) -> str:
    loop, homes = begun(folder, two_nodes(), window=window(nodes="names: [kni-worker]"))
    until(loop, 2, "03:00 in Madrid: the lead begins")
    loop.apply()
    reboot(loop, "kni-worker")
    loop.apply()
    loop.cluster.apply([pod("batch", on="kni-worker", cpu="15", memory="62Gi")])
    loop.say("-- a batch job fills kni-worker")
    loop.propose()
    for pull in pulls(loop, "return"):
        loop.say(f"#{pull.number} says: {pull.body.partition(chr(10))[0]}")
    tell(loop, homes)
    tell_status(loop, "Away", "Nodes", "Open")
    return loop.end()
