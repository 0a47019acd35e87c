"""Scheduling truth: what kube-scheduler and KubeVirt accept, and the rules of intents.

Every constraint is a check with an explanation. This room plans nothing, reads no file and no
clock, and never imports intents.
"""
