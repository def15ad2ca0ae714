"""Calls to a provider: what may have gone wrong, and what that means for the job."""
