"""What gitbot writes to pull requests: statuses, labels, next steps."""
