"""Run KubeVirt's controllers and webhooks against an API server, until SIGTERM or Ctrl-C.

    python -m tests.controlplane.kubevirt --kubeconfig FILE [--copy-seconds N] [--step-seconds N]

Installs CRDs, rights, policies and webhook configurations first. The account must be an
administrator's. For servers that have kubelets of some kind, real or played.
"""

import argparse
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace

from tests.controlplane.kubevirt.connection import Connection
from tests.controlplane.kubevirt.controllers import QUICK
from tests.controlplane.kubevirt.installation import KubeVirt

ENDS = {signal.SIGTERM, signal.SIGINT}


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal."""
    parser = argparse.ArgumentParser(prog="python -m tests.controlplane.kubevirt")
    parser.add_argument("--kubeconfig", required=True, help="file of an administrator")
    parser.add_argument("--copy-seconds", type=int, default=0, help="how long a memory copy takes")
    parser.add_argument("--step-seconds", type=int, default=0, help="and every other step")
    options = parser.parse_args(arguments)
    dials = replace(QUICK, copy_minimum=options.copy_seconds, handler_step=options.step_seconds)
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)  # before any thread: all inherit it
    with KubeVirt(Connection(options.kubeconfig), dials=dials) as kubevirt:
        print("virt-controller, virt-handler and virt-api are played; end with SIGTERM", flush=True)
        signal.sigwait(ENDS)
        for failure in kubevirt.controllers.failures:
            print(failure, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
