"""Drain of the first node, then an edit, then the second node on the terms that were reviewed."""

from pathlib import Path

from tests.scenarios.maintenance import begun, pulls, reboot, tell, two_nodes, until, window

DRAIN = "lead: PT1H, cordon: Gitbot, done: Rebooted"


def story(folder: Path) -> str:
    loop, homes = begun(folder, two_nodes(), window=window())
    until(loop, 2, "03:00 in Madrid: the lead begins")
    loop.apply()
    tell(loop, homes)
    loop.commit({"window.yaml": window(drain=f"{DRAIN}, maxNodesAtOnce: 2")})
    loop.say("-- somebody edits the window: maxNodesAtOnce 2")
    loop.apply()
    reboot(loop, "kni-worker")
    loop.apply()
    tell(loop, homes)
    reboot(loop, "kni-worker2")
    loop.apply()
    loop.propose()
    for pull in pulls(loop, "return"):
        loop.merge(pull.number)
    loop.apply()
    tell(loop, homes)
    return loop.end()
