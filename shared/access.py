"""Who may read which document: by default, what lies under the source's `allowed_inputs`."""

from shared.pipeline import Pipeline
from shared.refs import parse_ref


class PrefixAccess:
    """Implements `AccessPolicy` with the prefixes of pipeline.toml; the user makes no difference."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def may_read(self, source: str, user_id: str | None, ref: str) -> bool:  # noqa: ARG002  the port's
        policy = self._pipeline.sources.get(source)
        if policy is None:
            return False
        try:
            parse_ref(ref)
        except ValueError:
            return False
        return any(ref.startswith(prefix) for prefix in policy.allowed_inputs)
