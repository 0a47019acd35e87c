"""GitHub Actions without a runner: which event starts which run, and what each job may do.

Runs and their jobs are values in the state; a runner asks `Actions.ready`, calls
`begin` and `finish`, and stops a job that is `cancelling`.
"""
