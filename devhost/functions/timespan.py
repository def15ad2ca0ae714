"""The .NET TimeSpan text form, which host.json and timer schedules use: `[-][d.]hh:mm[:ss[.fffffff]]`.

Source: https://learn.microsoft.com/dotnet/api/system.timespan.parse
"""

import re
from datetime import timedelta

_FORM = re.compile(
    r"(?P<sign>-)?(?:(?P<days>\d{1,8})(?:[.:](?=\d+:\d+:\d)|$))?"
    r"(?:(?P<hours>\d{1,2}):(?P<minutes>\d{1,2})(?::(?P<seconds>\d{1,2})(?:\.(?P<fraction>\d{1,7}))?)?)?"
)


def parse_timespan(text: str) -> timedelta:
    """Read a TimeSpan; a whole number alone is days. Raises ValueError when it is none."""
    match = _FORM.fullmatch(text.strip())
    if match is None or (match["days"] is None and match["hours"] is None):
        raise ValueError(f"{text!r} is no TimeSpan; expected hh:mm:ss or d.hh:mm:ss")
    hours, minutes, seconds = (int(match[part] or 0) for part in ("hours", "minutes", "seconds"))
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError(f"{text!r} is no TimeSpan: hours go to 23, minutes and seconds to 59")
    microseconds = int((match["fraction"] or "").ljust(7, "0")) // 10
    span = timedelta(
        days=int(match["days"] or 0), hours=hours, minutes=minutes, seconds=seconds, microseconds=microseconds
    )
    return -span if match["sign"] else span
