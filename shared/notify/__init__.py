"""Telling a source's receiver how its jobs ended: an outbox, signed posts, patient retries."""
