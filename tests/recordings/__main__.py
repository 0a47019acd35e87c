"""`python -m tests.recordings FILE`: hold the simulator to recordings of KubeVirt."""

from __future__ import annotations

import sys

from tests.recordings.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
