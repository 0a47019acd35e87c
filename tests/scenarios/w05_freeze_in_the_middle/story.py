"""A freeze begins while the first VM migrates, and ends before the window does."""

from pathlib import Path

from tests.scenarios.loop import Loop
from tests.scenarios.maintenance import (
    HEAD,
    begun,
    in_flight,
    reboot,
    tell,
    two_nodes,
    until,
    window,
)

FREEZE = f"""{HEAD}kind: FreezeWindow
metadata: {{name: billing}}
spec:
  schedule: {{start: "2026-12-01T03:00", timeZone: Europe/Madrid, duration: PT2H}}
  reason: billing runs
"""


def story(folder: Path) -> str:
    loop, homes = begun(folder, two_nodes(), window=window())
    until(loop, 2, "03:00 in Madrid: the lead begins")
    in_flight(loop, lambda: _freeze(loop))
    loop.apply()
    tell(loop, homes)
    reboot(loop, "kni-worker")
    loop.apply()
    tell(loop, homes)
    until(loop, 4, "05:00 in Madrid: the freeze is over")
    loop.apply()
    tell(loop, homes)
    return loop.end()


def _freeze(loop: Loop) -> None:
    loop.commit({"freeze.yaml": FREEZE})
    loop.say("-- a freeze until 05:00 is merged while the VM migrates")
