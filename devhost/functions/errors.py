"""The errors that keep a host from starting."""

from collections.abc import Sequence


class StartError(Exception):
    """The app cannot run as it is; `problems` says everything that was found wrong, one sentence each."""

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("; ".join(self.problems))


class FunctionLoadError(StartError):
    """One function does not fit its bindings; worded as the Python worker words it."""

    def __init__(self, function: str, problem: str) -> None:
        super().__init__(f"cannot load the {function} function: {problem}")
