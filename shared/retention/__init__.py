"""Deleting what is no longer to be kept: inputs and results of jobs that ended, after the configured time."""
