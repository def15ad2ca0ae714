"""Who may read which document: by default, what lies under the source's `allowed_inputs`."""

from shared.pipeline import API, Pipeline
from shared.refs import parse_ref

UPLOADS = "inputs/uploads/"
"""Where `PUT /inputs/{name}` puts documents."""


class PrefixAccess:
    """Implements `AccessPolicy` with the prefixes of pipeline.toml; the user makes no difference."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._allowed = {name: policy.allowed_inputs for name, policy in pipeline.sources.items()}
        self._allowed[API] = (UPLOADS, *pipeline.api.allowed_inputs)

    def may_read(self, source: str, user_id: str | None, ref: str) -> bool:  # noqa: ARG002  the port's
        try:
            parse_ref(ref)
        except ValueError:
            return False
        return any(ref.startswith(prefix) for prefix in self._allowed.get(source, ()))
