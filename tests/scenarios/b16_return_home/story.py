"""Drain by window, node back, return proposed; closed unmerged, then silent; then merged."""

from pathlib import Path

from tests.doubles.customapp import customapp
from tests.scenarios.clusters import START
from tests.scenarios.loop import Loop

WINDOW = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: firmware}
spec:
  nodes: {names: [kni-worker]}
  schedule: {start: "2026-12-01T04:00", timeZone: Europe/Madrid, duration: PT4H}
  drain: {lead: PT1H, cordon: External}
  returnHome: Propose
"""


def story(folder: Path) -> str:
    """Tell the story."""
    loop = Loop.start(folder, customapp(step=4, jumpbox=True, start_time=START))
    loop.commit({"window.yaml": WINDOW})
    before = loop.where("jumpbox")
    loop.say(f"before: {before}")
    loop.propose()
    (pull,) = loop.forge.list_pulls()
    loop.apply()
    loop.merge(pull.number)
    loop.apply()
    loop.say("-- 03:00 in Madrid: the lead begins, an operator cordons the node")
    loop.port.sleep(7200)
    loop.cluster.cordon("kni-worker")
    loop.apply()
    loop.say(f"drained: {loop.where('jumpbox')}")
    loop.say("-- the node is serviced and uncordoned")
    loop.port.sleep(3600)
    loop.cluster.cordon("kni-worker", unschedulable=False)
    loop.apply()
    loop.propose()
    (back,) = [p for p in loop.forge.list_pulls() if p.branch.rpartition("/")[2][:6] == "return"]
    for comment in loop.forge.list_comments(back.number):
        rows = [row for row in comment.body.splitlines() if row.startswith("| `customapp")]
        for row in rows:
            loop.say(f"  {row}")
    loop.forge.close_pull(back.number)
    loop.say(f"alice closes #{back.number} without a merge")
    loop.propose()
    loop.propose()
    return loop.end()
