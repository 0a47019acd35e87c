"""KubeVirt's rules as pure functions over plain Kubernetes objects.

This room computes what a target pod will be, what admission decides and what may migrate. It has no
store, no event loop and no clock. Planning, execution and the simulator use it, and tests compare
it with what KubeVirt did.
"""
