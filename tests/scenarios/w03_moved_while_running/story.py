"""The first node is away when the window moves by a day."""

from pathlib import Path

from tests.scenarios.maintenance import begun, pulls, reboot, tell, two_nodes, until, window


def story(folder: Path) -> str:
    loop, homes = begun(folder, two_nodes(), window=window())
    until(loop, 2, "03:00 in Madrid: the lead begins")
    loop.apply()
    loop.commit({"window.yaml": window(start="2026-12-02T04:00")})
    loop.say("-- somebody moves the window to the next day")
    loop.apply()
    reboot(loop, "kni-worker")
    loop.apply()
    tell(loop, homes)
    loop.propose()
    for pull in pulls(loop, "drain"):
        loop.merge(pull.number)
    loop.apply()
    until(loop, 26, "the next day, 03:00 in Madrid")
    loop.apply()
    tell(loop, homes)
    return loop.end()
