"""Options, output and sessions that several commands share."""
