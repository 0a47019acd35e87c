"""Two windows name the same node; both are merged; both are open at once."""

from pathlib import Path

from tests.scenarios.maintenance import begun, pulls, reboot, tell, two_nodes, until, window

NODES = "names: [kni-worker]"


def story(folder: Path) -> str:
    loop, homes = begun(
        folder,
        two_nodes(),
        one=window("cabling", nodes=NODES, start="2026-12-01T05:00"),
        two=window("firmware", nodes=NODES),
    )
    until(loop, 2, "03:00 in Madrid: the lead of firmware begins")
    loop.apply()
    tell(loop, homes)
    until(loop, 3.1, "04:00 in Madrid: firmware is open, the lead of cabling begins")
    loop.propose()
    for pull in pulls(loop, "drain"):
        loop.merge(pull.number)
    loop.apply()
    tell(loop, homes)
    reboot(loop, "kni-worker")
    loop.apply()
    loop.apply()
    tell(loop, homes)
    loop.propose()
    for pull in pulls(loop, "return"):
        loop.merge(pull.number)
    loop.apply()
    tell(loop, homes)
    return loop.end()
