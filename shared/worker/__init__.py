"""Runs one job for one queue message: admission, the attempt, and its outcome."""
