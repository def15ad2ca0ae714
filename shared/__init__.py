"""Afterhook: webhooks in, AI results out; nothing lost, nothing done twice."""

VERSION = "0.1.0"
