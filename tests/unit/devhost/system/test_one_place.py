"""What differs between operating systems is in one place."""

import re

from devhost import paths

SCATTERED = re.compile(
    r"sys\.platform|os\.name|signal\.SIG|os\.kill|killpg|^\s*import (fcntl|resource|msvcrt|signal)\b"
    r"|add_signal_handler|start_new_session|os\.exec|\.chmod\(",
    re.MULTILINE,
)


def test_no_module_outside_devhost_system_asks_which_system_it_runs_on() -> None:
    devhost = paths.ROOT / "devhost"
    found = {
        file.relative_to(devhost).as_posix(): match.group().strip()
        for file in devhost.rglob("*.py")
        if not file.is_relative_to(devhost / "system")
        and (match := SCATTERED.search(file.read_text("utf-8")))
    }
    assert found == {}
