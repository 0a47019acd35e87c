"""`python -m gitbot.simulation replay FILE`: hold the simulator to recordings of KubeVirt."""

from __future__ import annotations

import sys

from gitbot.simulation.replay.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
