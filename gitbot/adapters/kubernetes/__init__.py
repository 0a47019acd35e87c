"""The Cluster port over the Kubernetes API; the only place that imports kubernetes."""
