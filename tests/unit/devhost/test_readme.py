"""The example for a team's own tests, as the README has it."""

import os
import re
import subprocess
import sys
from pathlib import Path

from devhost.paths import ROOT

_BLOCK = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_example_passes_as_it_stands_outside_this_working_copy(tmp_path: Path) -> None:
    files = dict(_BLOCK.findall((ROOT / "devhost/README.md").read_text("utf-8")))
    assert set(files) == {"function_app.py", "conftest.py", "test_orders.py"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    (tmp_path / "host.json").write_text((ROOT / "host.json").read_text())
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
