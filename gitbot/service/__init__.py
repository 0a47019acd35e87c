"""What a watching gitbot says over HTTP, on one port: metrics, probes, the pages of its cluster.

It only reads what the passes left behind. It starts nothing, and a client cannot delay a pass. The
forge may call: then the next pass begins earlier.
"""

from gitbot.service.pages import ALIVE, ServedPages
from gitbot.service.server import Address, PageServer, parse_address
from gitbot.service.wake_calls import Bell, WakeCalls

__all__ = [
    "ALIVE",
    "Address",
    "Bell",
    "PageServer",
    "ServedPages",
    "WakeCalls",
    "parse_address",
]
