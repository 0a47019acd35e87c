"""One forge a file."""
