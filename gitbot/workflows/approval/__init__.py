"""Which plans are approved, by whom, and whether that still holds."""
