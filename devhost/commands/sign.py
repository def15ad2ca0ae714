"""`dev.py sign SOURCE FILE`: prints the signed request as a `curl` for any POSIX shell."""

import shlex
from collections.abc import Sequence

from devhost.commands.signing import SignedRequest, parse, signed_request


def main(arguments: Sequence[str]) -> int:
    """Print it; 0."""
    options = parse("sign", "Signs a file as a source's sender would and prints the request.", arguments)
    print(curl(signed_request(options), options.file), flush=True)
    return 0


def curl(request: SignedRequest, file: str) -> str:
    """Shell lines that post `file` with the request's headers; `-` is the standard input of `curl`."""
    headers = [f"  -H {shlex.quote(f'{name}: {value}')} \\" for name, value in request.headers.items()]
    return "\n".join(
        [
            f"curl -sS -i {shlex.quote(request.address)} \\",
            *headers,
            f"  --data-binary {shlex.quote(f'@{file}')}",
        ]
    )
