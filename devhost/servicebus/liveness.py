"""Heartbeats to the peer, and finding out that it is gone (OASIS AMQP 1.0 part 2, section 2.4.5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_SHORTEST_BEAT = 0.05


class Liveness:
    """Calls `beat` before the peer finds this side silent, `give_up` when the peer was silent too long."""

    def __init__(self, beat: Callable[[], None], give_up: Callable[[], None]) -> None:
        self._beat = beat
        self._give_up = give_up
        self._loop = asyncio.get_running_loop()
        self._last_heard = self._last_said = self._loop.time()
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def heard(self) -> None:
        """Bytes came."""
        self._last_heard = self._loop.time()

    def said(self) -> None:
        """Bytes went out."""
        self._last_said = self._loop.time()

    def start(self, patience: float, peer_patience: float | None) -> None:
        """`patience` seconds of silence are too many here, `peer_patience` for the peer (None: any)."""
        self._check_peer(patience)
        if peer_patience:
            self._keep_up(max(peer_patience / 4, _SHORTEST_BEAT))

    def stop(self) -> None:
        """The connection is gone."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _check_peer(self, patience: float) -> None:
        left = self._last_heard + patience - self._loop.time()
        if left <= 0:
            self._give_up()
        else:
            self._timers["peer"] = self._loop.call_later(left, self._check_peer, patience)

    def _keep_up(self, interval: float) -> None:
        if self._loop.time() - self._last_said >= interval:
            self._beat()
        self._timers["beat"] = self._loop.call_later(interval, self._keep_up, interval)
