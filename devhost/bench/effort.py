"""How much is measured: the whole takes a few minutes on a small machine."""

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Counts of what is done; fewer are quicker and noisier."""

    imports: int = 7
    """Fresh interpreters a case."""
    broker_batches: int = 20
    """Of a hundred messages each."""
    warm: int = 50
    """Requests of each kind before anything is measured."""
    requests: int = 200
    """Requests of each kind."""
    at_once: int = 8
    jobs: int = 150
    warm_jobs: int = 30
    """Jobs that run before these."""
    large_bytes: int = 25 * MIB
    """The most that any sender sends (GitHub)."""
    large_at_once: int = 50
    rest_seconds: float = 2.0
    """Before the host's memory is looked at, so that it is at rest."""
