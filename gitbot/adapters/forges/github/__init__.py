"""The Forge port on GitHub, through PyGithub. Only this room imports PyGithub.

PyGithub signs and sends; this room decides what to read, repeat and cut, and how to understand it.
It never merges on its own initiative, reads state back from comments, or repeats a write blindly.
"""

from __future__ import annotations

from gitbot.adapters.forges.github.connect import GitHub, open_github

__all__ = [
    "GitHub",
    "open_github",
]
