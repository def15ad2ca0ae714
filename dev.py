"""Sets up everything on a machine with only Python, then runs a command: `python3 dev.py --help`.

Standard library only, and old syntax, so that a Python that is too old gets a sentence and not a traceback.
"""

import sys

OLDEST = (3, 11)
NEWEST = (3, 13)


def main():  # type: () -> int
    """Check the Python and hand over."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        found = ".".join(str(number) for number in sys.version_info[:3])
        sys.stderr.write(
            "Afterhook runs on Python 3.11, 3.12 and 3.13; this is Python " + found + ".\n"
            "Run it with one of those, for example: python3.11 dev.py demo\n"
        )
        return 2
    from devhost.bootstrap import enter  # an older Python could not read it

    return enter(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
