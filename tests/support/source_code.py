"""What source code says, read without running it."""

import ast
from collections.abc import Iterator


def imports(source: str, *, at_run_time: bool = False) -> Iterator[str]:
    """Every name imported, in functions too; `at_run_time` leaves out what only type checkers read."""
    tree = ast.parse(source)
    unread = {id(node) for block in ast.walk(tree) if _for_type_checkers(block) for node in ast.walk(block)}
    for node in ast.walk(tree):
        if not (at_run_time and id(node) in unread):
            yield from _imported_by(node)


def _for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _imported_by(node: ast.AST) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names):
            return [f"{module}.{alias.name}" for alias in names]
        case ast.Call(func=called, args=[ast.Constant(value=str(name)), *_]) if ast.unparse(called).endswith(
            ("import_module", "__import__")
        ):
            return [name]
    return []


def uses_of_failpoints(source: str) -> set[str]:
    """What is taken from the failpoints module: by import, attribute or `getattr`."""
    modules = {"shared.failpoints"}
    used: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module="shared", names=names):
                modules |= {alias.asname or alias.name for alias in names if alias.name == "failpoints"}
            case ast.Import(names=names):
                modules |= {a.asname for a in names if a.name == "shared.failpoints" and a.asname}
            case ast.ImportFrom(module="shared.failpoints", names=names):
                used |= {alias.name for alias in names}
            case ast.Attribute(value=owner, attr=name) if ast.unparse(owner) in modules:
                used.add(name)
            case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]) if (
                ast.unparse(owner) in modules
            ):
                used.add(name)
    return used


def strings(source: str) -> Iterator[str]:
    """Every text in the code but the docstrings and the names of modules in imports."""
    tree = ast.parse(source)
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value
