"""Kubernetes objects to ClusterSnapshot and back; minimal, versioned file format. No client."""
