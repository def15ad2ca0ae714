"""A Python 3.13 environment with what is deployed and the real worker library, made once per working copy."""

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from devhost.bootstrap import explain
from devhost.paths import LOCAL, ROOT

HOME = LOCAL / "worker-3.13"
REQUIREMENTS = ("requirements.txt", "requirements-worker.txt")
SETUP_SECONDS = 240
"""How long one run may take to make the environment, or wait for another run that makes it."""

_STAMP = ".afterhook-installed"
_PROBE_SECONDS = 90
# Free-threaded builds are another ABI, for which most packages have no wheels.
_PROBE = (
    "import sys, sysconfig, ensurepip, venv\n"
    "usable = sys.version_info[:2] == (3, 13) and not sysconfig.get_config_var('Py_GIL_DISABLED')\n"
    "print(sys.version if usable else '', end='')"
)


class WorkerSetupError(RuntimeError):
    """The environment could not be made; the text says which step failed, why and what to do."""


def find_python() -> Path | None:
    """A Python 3.13 that runs and can make environments: on PATH, else among pyenv's."""
    named = shutil.which("python3.13")
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    candidates = [Path(named)] if named else []
    candidates += sorted(pyenv.glob("versions/3.13*/bin/python3.13"), reverse=True)
    return next((python for python in candidates if version_of(python)), None)


def version_of(python: Path) -> str:
    """The full version of a usable Python 3.13, else "": pyenv's shims, for one, may stand for nothing."""
    command = [str(python), "-I", "-c", _PROBE]
    try:
        shown = subprocess.run(
            command, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return shown.stdout if shown.returncode == 0 else ""


def prepare(base: Path, home: Path = HOME) -> Path:
    """The Python of the environment in `home`, which is made from `base` unless it is up to date."""
    home.parent.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + SETUP_SECONDS
    python, stamp, wanted = home / "bin" / "python", home / _STAMP, fingerprint(version_of(base))
    with _alone(home.with_name(f"{home.name}.lock"), until):
        if stamp.is_file() and stamp.read_text() == wanted and version_of(python):
            return python
        stamp.unlink(missing_ok=True)
        run([str(base), "-m", "venv", "--clear", str(home)], "Making the Python 3.13 environment", until)
        install = [
            str(python),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-input",
            "--disable-pip-version-check",
            "--no-compile",  # most is never imported
        ]
        run([*install, "-r", str(ROOT / REQUIREMENTS[-1])], "Installing the worker library", until)
        stamp.write_text(wanted)
    return python


def fingerprint(version: str) -> str:
    """Changes whenever the installed packages might have to."""
    digest = hashlib.sha256(version.encode())
    for name in REQUIREMENTS:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def run(command: Sequence[str], what: str, until: float) -> None:
    """Run a step that says nothing unless it fails, and is ended with its children at `until`."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=max(until - time.monotonic(), 1))
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        raise WorkerSetupError(explain(what, f"{output}\ntimed out after {SETUP_SECONDS} s")) from None
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    if process.returncode != 0:
        raise WorkerSetupError(explain(what, output))


@contextmanager
def _alone(file: Path, until: float) -> Iterator[None]:
    with file.open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise WorkerSetupError(
                        f"Another run has held {file} for {SETUP_SECONDS} s. End that run and try again."
                    ) from None
                time.sleep(0.2)
        yield
