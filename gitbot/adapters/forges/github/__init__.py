"""The Forge port on GitHub, through PyGithub: the only door to it.

PyGithub signs and sends; what is read, repeated, cut and understood is decided here. It never
merges by itself, never reads state back from comments, and never sends a write twice blindly.
"""
