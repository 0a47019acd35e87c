"""A stateful GitLab on 127.0.0.1: the part of its REST API that gitbot calls, and no more.

Shapes, codes and messages are those of docs.gitlab.com and of GitLab's API classes; no real server
was asked. What GitLab does later than it answers (a new version after a push, the check for
conflicts) takes a look here. Pushes go to the bare repository on disk.
"""

from tests.doubles.gitlab.server import Server
from tests.doubles.gitlab.service import GitLab
from tests.doubles.gitlab.state import Project

__all__ = ["GitLab", "Project", "Server"]
