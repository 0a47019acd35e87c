"""A stateful GitHub on 127.0.0.1: REST over HTTP, Git over HTTP, one bare repository behind both.

It keeps GitHub's rules (rights, protection, limits, which event starts a workflow) on a clock that
is given to it. It never talks to anything, starts nothing by itself and knows no gitbot.
"""

from tests.doubles.github.faults import Fault, Trouble
from tests.doubles.github.server import Server, serve
from tests.doubles.github.service import GitHub

__all__ = ["Fault", "GitHub", "Server", "Trouble", "serve"]
