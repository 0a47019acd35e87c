"""The command line: main, and one lazily imported file for each command."""
