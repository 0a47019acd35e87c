"""A stateful GitHub on 127.0.0.1: REST over HTTP, Git over HTTP, one bare repository behind both.

It answers the requests of gitbot, its workflows, `gh` and tests, and keeps GitHub's rules (rights,
protection, limits, which event starts a workflow) on the clock that a test gives it. It opens no
connection, starts nothing by itself and does not know gitbot.
"""

from tests.doubles.github.faults import Fault, Trouble
from tests.doubles.github.server import Server
from tests.doubles.github.service import GitHub

__all__ = ["Fault", "GitHub", "Server", "Trouble"]
