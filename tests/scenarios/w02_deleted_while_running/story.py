"""The first node is away when the file of its window is removed."""

from pathlib import Path

from tests.scenarios.maintenance import begun, reboot, tell, tell_status, two_nodes, until, window


def story(folder: Path) -> str:
    loop, homes = begun(folder, two_nodes(), window=window())
    until(loop, 2, "03:00 in Madrid: the lead begins")
    loop.apply()
    loop.commit({"window.yaml": None})
    loop.say("-- somebody deletes the window")
    loop.apply()
    tell(loop, homes)
    reboot(loop, "kni-worker")
    loop.apply()
    loop.propose()
    tell(loop, homes)
    tell_status(loop, "Away", "Nodes")
    return loop.end()
