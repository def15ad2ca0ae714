"""Where things are in a working copy."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL = ROOT / ".local"
AZURITE_HOME = LOCAL / "azurite"
DEFAULT_STATE = LOCAL / "state"
SAMPLE_SETTINGS = ROOT / "local.settings.sample.json"
PIPELINE = ROOT / "pipeline.toml"
QUEUE_CONFIG = ROOT / "devhost" / "servicebus.json"
