"""A deterministic cluster with a virtual clock and an HTTP face that speaks the Kubernetes API."""
