"""Makes `.venv` and installs into it, then starts `dev.py` again in it. Standard library only."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from devhost.progress import say, step
from devhost.system import SYSTEM, LockTakenError

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCAL = ROOT / ".local"
REQUIREMENTS = ("requirements.txt", "requirements-dev.txt")
COMMANDS = ("demo", "up", "send", "sign", "test", "bench")
_NEEDED_BYTES = 900_000_000
_STAMP = ".afterhook-installed"

USAGE = """\
usage: python3 dev.py COMMAND [options]      (COMMAND --help shows its options)

  demo    start the local stack and take the tour: a webhook becomes a summary, a failure becomes a case
  up      run the local stack until Ctrl-C; prints addresses, keys and a ready curl
  send    send a file to the running stack as a source's sender would: send SOURCE FILE
  sign    print that request as a curl instead: sign SOURCE FILE
  test    every check: format, lint, types, import rules, all tests
  bench   what things cost on this machine, as a table and as JSON

Each sets up what it needs on its first run: .venv from PyPI, Azurite from the npm registry.
"""

_CAUSES: Mapping[str, str] = {
    "No space left on device": "The disk is full. Free about 1 GB and run the command again.",
    "Errno 28": "The disk is full. Free about 1 GB and run the command again.",
    "Name or service not known": "The package index was not found: no network, or a proxy pip does not know.",
    "Temporary failure in name resolution": "The package index was not found: no network?",
    "nodename nor servname": "The package index was not found: no network?",
    "ProxyError": "The proxy did not let pip through. Check HTTPS_PROXY.",
    "Connection refused": "The package index refused the connection. Check pip's index setting.",
    "Network is unreachable": "There is no network.",
    "timed out": "The package index did not answer in time. Run the command again.",
    "CERTIFICATE_VERIFY_FAILED": "The package index shows a certificate that this machine does not trust.",
    "No matching distribution": "The package index in use lacks a package. Check pip's index setting.",
    "ensurepip": "This Python cannot make virtual environments. On Debian: apt install python3-venv",
    "Permission denied": "A folder may not be written. See the path below.",
}


class SetupError(RuntimeError):
    """A step of the set-up failed; the text says which, why, and what to do."""


def enter(arguments: Sequence[str]) -> int:
    """Prepare `.venv`, then run the command in it: here if this is its Python, else by starting anew."""
    if not arguments or arguments[0] in {"-h", "--help", "help"}:
        sys.stdout.write(USAGE)
        return 0
    if arguments[0] not in COMMANDS:
        say(f"There is no command {arguments[0]!r}.\n\n{USAGE}")
        return 2
    try:
        with _alone():
            prepare()
    except SetupError as failure:
        say(str(failure))
        return 1
    except KeyboardInterrupt:
        say("Stopped. The next run goes on from here.")
        return 130
    if Path(sys.prefix).resolve() != VENV:
        _start_anew(arguments)
    from devhost.commands import run  # its imports are installed only now

    return run(arguments)


def _start_anew(arguments: Sequence[str]) -> NoReturn:
    SYSTEM.become([str(_venv_python()), str(ROOT / "dev.py"), *arguments])


def prepare() -> None:
    """Make `.venv` what the requirement files ask for; quick when it is already."""
    stamp, wanted = VENV / _STAMP, fingerprint()
    if _venv_python().exists() and stamp.is_file() and stamp.read_text() == wanted:
        return
    _check_disk()
    stamp.unlink(missing_ok=True)
    if not _is_this_python():
        with step("Making .venv"):
            _run([sys.executable, "-m", "venv", "--clear", str(VENV)], "Making .venv")
    with step("Installing Python packages into .venv (once)"):
        command = [str(_venv_python()), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        command.append("--only-binary=:all:")  # no compiler is needed, and no package's code runs here
        _run([*command, "-r", str(ROOT / REQUIREMENTS[-1])], "Installing Python packages")
    stamp.write_text(wanted)


def fingerprint() -> str:
    """Changes whenever the installed packages might have to."""
    digest = hashlib.sha256(sys.version.encode())
    for name in REQUIREMENTS:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def explain(what: str, output: str) -> str:
    """A message for a failed step: which, the likely cause and what to do, then the program's last lines."""
    cause = next((text for sign, text in _CAUSES.items() if sign in output), "See its last lines below.")
    tail = "\n".join(f"    {line}" for line in output.strip().splitlines()[-10:])
    return f"{what} failed. {cause}\n{tail}"


def _venv_python() -> Path:
    return SYSTEM.venv_program(VENV, "python")


def _is_this_python() -> bool:
    if not _venv_python().exists():
        return False
    probe = "import sys, pip; sys.stdout.write(sys.version)"
    found = subprocess.run([str(_venv_python()), "-c", probe], capture_output=True, text=True, check=False)
    return found.returncode == 0 and found.stdout == sys.version


def _check_disk() -> None:
    free = shutil.disk_usage(ROOT).free
    if free < _NEEDED_BYTES:
        raise SetupError(
            f"The set-up needs about {_NEEDED_BYTES / 1e9:.1f} GB in {ROOT}; {free / 1e9:.1f} GB are free."
            " Free some space and run the command again."
        )


def _run(command: Sequence[str], what: str) -> None:
    environment = {**os.environ, "PIP_NO_INPUT": "1", "PYTHONNOUSERSITE": "1"}
    try:
        done = subprocess.run(
            list(command),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            text=True,
            errors="replace",
        )
    except OSError as fault:
        raise SetupError(f"{what} failed: {fault}") from fault
    if done.returncode != 0:
        raise SetupError(explain(what, done.stdout))


@contextmanager
def _alone() -> Iterator[None]:
    try:
        LOCAL.mkdir(exist_ok=True)
        with (LOCAL / "setup.lock").open("w") as lock:
            try:
                SYSTEM.lock(lock, wait=False)
            except LockTakenError:
                say("Another set-up of this working copy is running; waiting for it.")
                SYSTEM.lock(lock, wait=True)
            yield
    except PermissionError as denied:
        raise SetupError(
            f"{denied.filename} may not be written. Run dev.py in a copy of your own."
        ) from denied
