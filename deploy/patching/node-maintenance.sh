#!/bin/sh
# A command for patch-nodes.sh, for clusters with the operator of medik8s: a NodeMaintenance holds the node while PATCH,
# yours, works on it. The window has `done: Uncordoned`: the operator uncordons when its NodeMaintenance is deleted.
set -eu
kubectl apply -f - <<END
apiVersion: nodemaintenance.medik8s.io/v1beta1
kind: NodeMaintenance
metadata: {name: "$1"}
spec: {nodeName: "$1", reason: emptied by gitbot}
END
kubectl wait "nodemaintenance/$1" --for 'jsonpath={.status.phase}=Succeeded' --timeout 1h
"$PATCH" "$1" # if it fails, the NodeMaintenance stays, and with it the cordon
kubectl delete "nodemaintenance/$1"
