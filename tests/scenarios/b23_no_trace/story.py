"""A pinned move, then an unpinned one by hand: the pin is forgotten."""

from pathlib import Path

from tests.doubles.customapp import customapp
from tests.scenarios.b21_once_for_ever.story import REQUEST, foreign
from tests.scenarios.clusters import START
from tests.scenarios.loop import Loop


def story(folder: Path) -> str:
    """Tell the story."""
    loop = Loop.start(folder, customapp(step=4, jumpbox=True, start_time=START))
    pull = loop.open({"request.yaml": REQUEST})
    loop.publish(pull.number)
    loop.merge(pull.number)
    loop.apply()
    loop.say(f"after the pinned move: {loop.where('jumpbox')}")
    loop.cluster.apply([foreign("by-hand")])
    loop.cluster.settle()
    loop.say(f"after a move by hand, without a pin: {loop.where('jumpbox')}")
    return loop.end()
