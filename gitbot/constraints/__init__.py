"""Scheduling rules: what kube-scheduler and KubeVirt accept, and what intents demand.

Every constraint is a check with an explanation. This room plans nothing, reads neither files nor
the clock, and never imports intents.
"""
