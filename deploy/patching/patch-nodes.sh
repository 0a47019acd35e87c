#!/bin/sh
# Patches nodes, each as soon as gitbot has emptied it, in a clone of the intents repository:
#   patch-nodes.sh COMMAND NODE...
# COMMAND gets the name of one node; it patches and reboots it. READY and RETURNED are how long to wait for a node
# to be empty, and back afterwards. Exit code 1 if a node was not patched, or did not come back.
set -u
command=$1
shift

patch() {
  gitbot wait "node/$1" --for ready --timeout "${READY:-12h}" &&
    "$command" "$1" &&
    gitbot wait "node/$1" --for returned --timeout "${RETURNED:-1h}"
}

started=
for node in "$@"; do
  patch "$node" & # gitbot, not the order here, decides which node comes next
  started="$started $!"
done
failed=0
for process in $started; do
  wait "$process" || failed=1
done
exit $failed
