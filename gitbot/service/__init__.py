"""What a watching gitbot says over HTTP, on one port: metrics, probes, the pages of its cluster.

It only reads what the passes left behind. It starts nothing, and a client cannot delay a pass.
"""

from gitbot.service.pages import ALIVE, ServedPages
from gitbot.service.server import Address, PageServer, parse_address

__all__ = [
    "ALIVE",
    "Address",
    "PageServer",
    "ServedPages",
    "parse_address",
]
