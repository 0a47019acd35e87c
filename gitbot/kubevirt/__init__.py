"""KubeVirt's rules as pure functions and pure reconcilers over plain Kubernetes objects.

What a target pod will be, what admission answers, what the migration controller does next. Values
in, values out: no store, no event loop, no clock. The simulator runs these reconcilers, planning
and execution ask them, and tests hold them to what KubeVirt 1.9 itself did.
"""
