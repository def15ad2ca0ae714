"""Failpoints do nothing unless a fault tool installs a hook in its own process."""

import ast
from pathlib import Path

import shared
from shared.failpoints import Point, install, reach

ROOT = Path(shared.__file__).parent


async def test_without_a_hook_a_point_does_nothing() -> None:
    await reach(Point.WORKER_AFTER_CLAIM)


async def test_a_hook_is_told_the_points_name() -> None:
    seen: list[str] = []

    async def hook(name: str) -> None:
        seen.append(name)

    install(hook)
    try:
        await reach(Point.WORKER_AFTER_CLAIM)
    finally:
        install(None)
    await reach(Point.WORKER_AFTER_CLAIM)
    assert seen == ["worker-after-claim"]


def test_nothing_in_the_application_installs_a_hook() -> None:
    for path in [*ROOT.rglob("*.py"), ROOT.parent / "function_app.py"]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "shared.failpoints":
                assert "install" not in {alias.name for alias in node.names}, path
            if isinstance(node, ast.Import):
                assert "shared.failpoints" not in {alias.name for alias in node.names}, path


def test_every_point_is_reached_somewhere() -> None:
    text = "".join(path.read_text() for path in ROOT.rglob("*.py"))
    for point in Point:
        handed_over = f"=Point.{point.name}," in text  # to one that serves several ways
        assert handed_over or f"reach(Point.{point.name})" in text, point
