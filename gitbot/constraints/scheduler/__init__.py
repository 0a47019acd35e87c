"""kube-scheduler's state and decisions: pods on nodes, filters, scores."""
