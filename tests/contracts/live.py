"""Hold a forge of yours to the forge's contract, in scratch repositories that this makes there.

    GITBOT_LIVE_TOKEN=... python -m tests.contracts.live --forge gitea --address URL

The token is of an administrator of a scratch server, on GitLab with the scope api: the run makes
accounts (alice, bob, ann, eve, rita) and a repository for each test, and leaves them there. It
proves that a server keeps what gitbot relies on; gitbot itself needs no such rights.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOKEN = "GITBOT_LIVE_TOKEN"
SUITES = {
    "gitea": (
        "tests/contracts/test_forge.py",
        "tests/contracts/test_forge_says.py",
        "tests/forge/gitea/test_server.py",
    ),
    "gitlab": ("tests/contracts/test_forge.py", "-k", "live-gitlab"),
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Hold a forge of yours to the contract.")
    parser.add_argument("--forge", choices=sorted(SUITES), required=True)
    parser.add_argument("--address", required=True, help="such as https://git.example.org")
    options = parser.parse_args(arguments)
    if not os.environ.get(TOKEN):
        print(f"set {TOKEN} to a token of an administrator of the server", file=sys.stderr)
        return 2
    environment = {**os.environ, f"GITBOT_LIVE_{options.forge.upper()}": options.address}
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-m", "forge", *SUITES[options.forge]]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
