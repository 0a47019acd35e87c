"""VMs that migrate: target pods, nodes that take them, running moves."""
