"""What a person found out about an effect."""

from dataclasses import replace

from shared.deadletters.decisions import Decision
from shared.deadletters.reconcile import Outcome, Reconciliation

DECISION = Decision(operator="ada", reason="Looked at the provider's list.")
KEYED = replace(DECISION, idempotency_key="key-1")
DONE = Reconciliation(effect="submit", outcome=Outcome.DONE, external_id="video_7")
NOT_DONE = Reconciliation(effect="submit", outcome=Outcome.NOT_DONE)
