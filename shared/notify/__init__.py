"""Telling a source's receiver how its jobs ended: an outbox beside each job, signed posts, patient retries."""
