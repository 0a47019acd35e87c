"""Scheduling truth: what kube-scheduler and KubeVirt accept, and the rules of intents, as checks with explanations."""
