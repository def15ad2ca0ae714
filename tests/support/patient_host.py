"""A host that takes minutes where GitHub waits seconds, for tests of what else it does on a busy machine.

Loaded into the local host as a plugin.
"""

from shared.webhooks.github import GitHub


def install() -> None:
    """Change the deadline in this process."""
    GitHub.answer_within = 150.0
