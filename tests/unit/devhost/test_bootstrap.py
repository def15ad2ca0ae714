"""Set-up before `.venv` exists."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from devhost import bootstrap, commands
from devhost.paths import ROOT


def _dev(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "dev.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_names_the_commands_that_exist() -> None:
    shown = _dev("--help")
    assert shown.returncode == 0
    assert all(f"\n  {command} " in shown.stdout for command in bootstrap.COMMANDS)


def test_each_command_that_is_named_can_be_run() -> None:
    assert set(bootstrap.COMMANDS) == set(commands.MODULES)
    assert all(callable(import_module(module).main) for module in commands.MODULES.values())


def test_an_unknown_command_is_refused_with_the_usage() -> None:
    refused = _dev("dmeo")
    assert refused.returncode == 2
    assert "'dmeo'" in refused.stderr
    assert "usage:" in refused.stderr


def test_a_python_that_is_too_old_gets_a_sentence() -> None:
    code = "import sys; sys.version_info = (3, 9, 2, 'final', 0); import dev; sys.exit(dev.main())"
    refused = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert "this is Python 3.9.2" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_nothing_is_loaded_from_outside_the_standard_library_before_the_venv_is_made() -> None:
    code = (
        "import sys, dev, devhost.bootstrap\n"
        "files = [str(getattr(module, '__file__', '')) for module in sys.modules.values()]\n"
        "print([file for file in files if 'site-packages' in file])"
    )
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert loaded.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("NewConnectionError: Temporary failure in name resolution", "no network"),
        (
            "The virtual environment was not created because ensurepip is not available",
            "apt install python3-venv",
        ),
        ("something new", "last lines below"),
    ],
)
def test_a_failed_step_is_explained_and_its_own_words_kept(output: str, said: str) -> None:
    text = bootstrap.explain("Installing", output)
    assert text.startswith("Installing failed.")
    assert said in text
    assert output in text


def test_another_requirement_file_needs_another_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in bootstrap.REQUIREMENTS:
        (tmp_path / name).write_text("six==1.16.0")
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path)
    before = bootstrap.fingerprint()
    (tmp_path / "requirements.txt").write_text("six==1.17.0")
    assert bootstrap.fingerprint() != before


def test_a_full_disk_is_said_before_anything_is_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bootstrap, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(bootstrap, "_NEEDED_BYTES", 10**18)
    with pytest.raises(bootstrap.SetupError, match="Free some space"):
        bootstrap.prepare()
    assert not (tmp_path / ".venv").exists()
