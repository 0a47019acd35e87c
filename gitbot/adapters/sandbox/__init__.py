"""Child processes with limits and without credentials: they read untrusted input."""
