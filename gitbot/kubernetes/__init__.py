"""Words that every room uses: Kubernetes objects, names, labels, selectors, quantities, phases.

Pure functions over plain JSON. This room does not know a cluster, a client or the rest of gitbot.
"""
