"""Fault tools for tests of the local stack: failpoints in the host, and a connection breaker."""
