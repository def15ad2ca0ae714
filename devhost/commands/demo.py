"""`dev.py demo`: the tour on a fresh local stack."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from devhost import paths
from devhost.azurite import install
from devhost.configuration_check import check_configuration
from devhost.outside.receiver import Receiver
from devhost.progress import say, step
from devhost.provision import provision
from devhost.stack import Part, Stack, StackOptions
from devhost.tour.client import Client, TourError
from devhost.tour.steps import Tour

SOURCE = "github"
_STATE = paths.LOCAL / "demo"


def main(arguments: Sequence[str]) -> int:
    """Start the stack, take the tour, stop the stack; 0 when every step showed what it should."""
    options = _parse(arguments)
    install.ensure(paths.AZURITE_HOME)
    state: Path = options.state.resolve()
    if options.state == _STATE:
        shutil.rmtree(state, ignore_errors=True)
    is_first = not (state / "azurite").exists()
    with Receiver() as alerts:
        settings = {"ALERT_WEBHOOK_URL": alerts.url}
        stack = Stack(StackOptions(state=state, extra_settings=settings, check=check_configuration))
        try:
            with step("Starting the local stack"):
                stack.start()
                provision(stack.storage)
            _tour(stack, alerts, is_first=is_first).run()
        except TourError as failure:
            say(f"The tour stopped: {failure}.\nThe host's last lines ({stack.log(Part.HOST)}):")
            say(stack.last_lines(Part.HOST))
            return 1
        finally:
            with step("Stopping the local stack"):
                stack.stop()
    logs = stack.log(Part.HOST).parent
    _tell(f"\nThat was the tour. What the parts wrote: {logs}")
    _tell("`python3 dev.py up` keeps a stack running for you to try.")
    return 0


def _tour(stack: Stack, alerts: Receiver, *, is_first: bool) -> Tour:
    return Tour(
        client=Client(stack.url, stack.operator_key),
        storage=stack.storage,
        source=SOURCE,
        secret=stack.secrets[SOURCE],
        alerts=alerts,
        tell=_tell,
        is_first=is_first,
    )


def _tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="dev.py demo", description="Takes the tour on a local stack of its own."
    )
    parser.add_argument("--state", type=Path, default=_STATE, metavar="DIR", help="where data is kept")
    return parser.parse_args(arguments)
