"""Each way that webhook receivers are known to fail in the field has a test, marked `case(number)`."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[3]

# Reported failures of other receivers; the number is the mark's.
CASES = {
    1: "the body is parsed and written anew before it is verified",
    2: "the platform writes JSON anew",
    3: "the signature's prefix, or its lack, is not seen",
    4: "a chunked body arrives empty",
    5: "binary is decoded as text on the way",
    6: "a body that is not UTF-8 raises",
    8: "accents and emoji are hashed as ASCII",
    10: "a character is cut in two between chunks",
    12: "line ends get lost",
    13: "a form is verified as the JSON made of it",
    14: "a form is written anew from its fields",
    15: "a compressed body",
    17: "an empty body",
    19: "spaces after the commas of a signature header",
    20: "parts of the header glued together, or in another order",
    22: "malformed parts of the header raise",
    23: "several signatures while a secret is rolled, or a thousand",
    24: "only a signature of the test scheme",
    26: "a signature header that came twice",
    27: "a signature beyond ASCII raises",
    29: "a missing signature is accepted",
    30: "malformed entries raise",
    33: "one kind of signature taken for another",
    34: "a signature written in another form",
    37: "the case of header names",
    38: "the old, weak signature header",
    39: "white space around the configured secret",
    41: "an empty secret",
    42: "no secret, so no check",
    43: "an empty verify token matches an empty parameter",
    44: "a magic value that switches the check off",
    46: "a secret that may or may not be base64",
    48: "lax base64 gives a short key",
    50: "a text secret decoded, or the other way round",
    51: "another kind of secret",
    52: "an account with a key of its own",
    53: "rotation",
    54: "a wrong clock",
    55: "retries that keep their first time",
    56: "an event's time in the place of the signature's",
    58: "a time in the future",
    59: "a time that is not signed",
    62: "milliseconds",
    63: "a replay within the tolerance, or after it",
    64: "no time at all",
    65: "https outside, http inside",
    66: "forwarded headers from anyone",
    68: "another host behind a front door",
    69: "the port of the address",
    70: "the query escaped in another way",
    72: "the query's fields taken for the form's",
    73: "repeated fields of a form",
    75: "blank, trimmed or rewritten fields",
    77: "fields that are not known",
    78: "a hashed JSON body taken for a form",
    80: "a newer kind of signature that a header announces",
    81: "a path that was cleaned up",
    82: "a handshake by GET refused for its missing signature",
    84: "a handshake by POST not answered, or not verified",
    86: "a handshake by OPTIONS",
    87: "probes by HEAD and GET",
    88: "a sender's trial call",
    89: "redelivery with the same id; two hooks with one id",
    90: "a duplicate's key that holds a fresh time",
    91: "duplicates across instances",
    92: "duplicates at the same moment",
    93: "marked as done before it was",
    94: "duplicates looked for before the signature",
    95: "a duplicate answered with an error",
    97: "a paid event that comes twice",
    98: "no id",
    100: "two events for one change",
    101: "events out of order",
    102: "a result that comes before its request is known",
    103: "an answer that makes the sender drop the event",
    104: "an answer that comes too late",
    106: "a large body read before it is authenticated",
    108: "signed JSON of another shape",
    111: "one kind of event given to the parser of another",
    112: "an event type that is new",
    115: "an address from a request that is fetched",
}


def test_every_known_failure_has_a_test_and_every_mark_is_one_of_them() -> None:
    marked = {number for file in TESTS.rglob("test_*.py") for number in marks_in(file)}
    assert {number: CASES.get(number) for number in marked ^ CASES.keys()} == {}


def marks_in(file: Path) -> Iterator[int]:
    """The numbers in `pytest.mark.case(...)`, on tests and on parameters."""
    source = file.read_text(encoding="utf-8")
    if "mark.case(" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.case":
            for argument in node.args:
                assert isinstance(argument, ast.Constant), file
                assert isinstance(argument.value, int), file
                yield argument.value
