"""Words that everything speaks: Kubernetes objects, names, labels, selectors, quantities, phases.

Pure functions over plain JSON. This room knows no cluster, no client and nothing of gitbot.
"""
