"""`pipeline.toml`: which webhooks start which tasks, and how those are run.

The types are here; `shared.pipeline.loader` reads the file (and imports what that needs).
"""

from shared.pipeline.model import API, ApiPolicy, Pipeline, Route, SourcePolicy, Users
from shared.pipeline.policies import TaskPolicy

__all__ = ["API", "ApiPolicy", "Pipeline", "Route", "SourcePolicy", "TaskPolicy", "Users"]
