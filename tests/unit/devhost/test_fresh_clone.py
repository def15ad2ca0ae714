"""A fresh clone on a machine with only Python, no compiler, and the package registries."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devhost.paths import ROOT
from tests.support.fresh_clone import without_build_tools


def test_a_path_with_a_compiler_is_refused(tmp_path: Path) -> None:
    compiler = tmp_path / "gcc"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    with pytest.raises(RuntimeError, match="has gcc"):
        without_build_tools({}, tmp_path)


def test_settings_that_name_a_compiler_are_dropped(tmp_path: Path) -> None:
    environment = without_build_tools({"CC": "gcc", "HOME": "/home/mira", "PATH": "/usr/bin"}, tmp_path)
    assert environment == {"HOME": "/home/mira", "PATH": str(tmp_path)}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(sys.platform == "win32", reason="the path is a folder of symbolic links")
def test_the_demo_runs_from_a_fresh_clone_without_a_compiler(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.fresh_clone", str(tmp_path / "fresh")],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ended with 0" in done.stdout
