"""gitbot's writing on pull requests: statuses, labels, next steps."""
