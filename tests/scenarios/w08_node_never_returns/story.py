"""The first node is lost for good."""

from pathlib import Path

from tests.doubles.trouble import lose_node
from tests.scenarios.maintenance import begun, tell, tell_status, two_nodes, until, window


def story(folder: Path) -> str:
    loop, homes = begun(folder, two_nodes(), window=window())
    until(loop, 2, "03:00 in Madrid: the lead begins")
    loop.apply()
    lose_node(loop.cluster, "kni-worker")
    until(loop, 3, "the node went for its reboot, and does not come back")
    loop.apply()
    tell(loop, homes)
    until(loop, 31, "a day later")
    loop.apply()
    loop.propose()
    tell(loop, homes)
    tell_status(loop, "Nodes", "Away")
    return loop.end()
