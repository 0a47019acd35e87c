"""A cluster at one moment: nodes, pods, resources, load."""
