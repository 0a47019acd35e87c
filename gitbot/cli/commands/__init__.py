"""One file for each command, imported when the command runs."""
