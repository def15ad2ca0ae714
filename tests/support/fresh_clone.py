"""Runs `dev.py demo` from a fresh clone, with a path on which there is Python and nothing else.

`python -m tests.support.fresh_clone FOLDER` clones the last commit of this working copy into FOLDER, which
must not exist, and ends with the demo's code. What the demo installs comes from the package registries.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from devhost.paths import ROOT
from devhost.system import SYSTEM

BUILD_TOOLS = (
    "cc",
    "c++",
    "gcc",
    "g++",
    "clang",
    "clang++",
    "make",
    "cmake",
    "ninja",
    "ld",
    "as",
    "cargo",
    "rustc",
)
_BUILD_SETTINGS = ("CC", "CXX", "CPP", "LD", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CARGO_HOME", "RUSTUP_HOME")
_OF_THIS_RUN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER")


def run_demo(folder: Path) -> int:
    """Clone, run the demo with its output passed on, and answer its code."""
    folder.mkdir(parents=True)
    clone, programs = folder / "clone", folder / "bin"
    _git("clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone))
    programs.mkdir()
    (programs / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    environment = without_build_tools(os.environ, programs)
    command = [str(programs / "python3"), "dev.py", "demo"]
    return subprocess.run(
        command, cwd=clone, env=environment, stdin=subprocess.DEVNULL, check=False
    ).returncode


def without_build_tools(environ: Mapping[str, str], programs: Path) -> dict[str, str]:
    """The environment with `programs` as its whole path; raises `RuntimeError` if that holds a build tool."""
    found = [name for name in BUILD_TOOLS if shutil.which(name, path=str(programs))]
    if found:
        raise RuntimeError(f"{programs} has {', '.join(found)}")
    dropped = {*_BUILD_SETTINGS, *_OF_THIS_RUN}
    kept = {name: value for name, value in environ.items() if name not in dropped}
    return {**kept, "PATH": str(programs)}


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True)


def main() -> int:
    """Run it in the folder named on the command line."""
    SYSTEM.interrupt_on_stop()
    folder = Path(sys.argv[1]).resolve()
    code = run_demo(folder)
    print(f"The demo without a compiler on the path ended with {code}.", flush=True)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
