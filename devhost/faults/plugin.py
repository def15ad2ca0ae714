"""The host's side of failpoints: loaded into the local Functions host by `--plugin devhost.faults.plugin`."""

import asyncio
import os
import sys
from pathlib import Path
from typing import assert_never

from devhost.faults.failpoints import FOLDER_SETTING, Action, Arming
from devhost.system import SYSTEM
from shared import failpoints

_POLL_SECONDS = 0.01


def install() -> None:
    """Act on armed failpoints in this process. Needs the setting that names their folder."""
    folder = os.environ.get(FOLDER_SETTING)
    if not folder:
        raise RuntimeError(f"the fault plugin needs {FOLDER_SETTING}: the folder where tests arm failpoints")
    failpoints.install(FailpointHook(Path(folder)))


class FailpointHook:
    """Looks for a file named like the point; without one it costs a single failed `open`."""

    def __init__(self, folder: Path) -> None:
        """Serve the points armed in `folder`."""
        self._folder = str(folder)

    async def __call__(self, name: str) -> None:
        """Act on what is armed at `name`, if anything."""
        armed = f"{self._folder}/{name}"
        try:
            with open(armed) as file:  # noqa: ASYNC230, PTH123  a tiny local file; the usual case is that none is there
                arming = Arming.read(file.read())
        except FileNotFoundError:
            return
        beyond = self._count(name, arming) - arming.hit
        if beyond >= 0 and (beyond < arming.times - 1 or _consume(armed)):
            await self._act(name, arming)

    def _count(self, name: str, arming: Arming) -> int:
        """One more hit of this arming; those counted for an earlier one do not count."""
        file = Path(f"{self._folder}/{name}.hits")
        token, _, count = file.read_text().partition(" ")
        hits = 1 + (int(count) if token == arming.token else 0)
        _rewrite(str(file), f"{arming.token} {hits}")
        return hits

    async def _act(self, name: str, arming: Arming) -> None:
        match arming.action:
            case Action.KILL:
                print(f"failpoint {name}: killing this process", file=sys.stderr, flush=True)
                SYSTEM.kill(os.getpid())
            case Action.HOLD:
                await self._hold(name)
            case Action.SLEEP:
                await asyncio.sleep(arming.seconds)
            case Action.ERROR:
                raise OSError(f"failpoint {name}")
            case _:
                assert_never(arming.action)

    async def _hold(self, name: str) -> None:
        _rewrite(f"{self._folder}/{name}.held", "")
        while not _consume(f"{self._folder}/{name}.go"):  # noqa: ASYNC110  the event is a file of another process
            await asyncio.sleep(_POLL_SECONDS)
        _consume(f"{self._folder}/{name}.held")


def _consume(path: str) -> bool:
    """Take the file away; of several that try, one succeeds, and nobody ever does again."""
    try:
        Path(path).replace(f"{path}.done")
    except FileNotFoundError:
        return False
    return True


def _rewrite(path: str, content: str) -> None:
    draft = Path(f"{path}.draft")
    draft.write_text(content)
    draft.replace(path)
