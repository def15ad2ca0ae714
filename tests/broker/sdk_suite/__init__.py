"""The SDK's own tests, as published, against the local broker."""
