"""Child processes with limits: they read what others wrote, without credentials."""
