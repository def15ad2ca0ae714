"""Comparing our verdict with that of a sender's own library over thousands of requests.

Where the two may differ is listed, with the reason and an example on which they do.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

C = TypeVar("C")
CASES = 100  # of one seed
TEXTS = ["{}", '{"type":"a"}', "payload=%7B%7D&a=*+%20", "Grüße ☕ 👋", "\u2028", " \r\n", "x" * 5000, ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Generic[C]):
    """`ours` is our verdict on the example; the library's is the other one. `applies` tells such cases.

    An example is made when it is looked at, because the libraries have clocks of their own.
    """

    reason: str
    applies: Callable[[C], bool]
    example: Callable[[], C]
    ours: bool


def compare(
    seed: int,
    made: Callable[[Random], C],
    ours: Callable[[C], bool],
    theirs: Callable[[C], bool],
    differences: Sequence[Difference[C]],
) -> Counter[bool]:
    """The verdicts on the cases that `made` makes of `seed`; they must agree but for the differences."""
    random = Random(seed)
    verdicts: Counter[bool] = Counter()
    for _ in range(CASES):
        case = made(random)
        verdict = ours(case)
        verdicts[verdict] += 1
        if verdict != theirs(case):
            assert any(difference.applies(case) for difference in differences), case
    return verdicts


def assert_differs(difference: Difference[C], ours: Callable[[C], bool], theirs: Callable[[C], bool]) -> None:
    example = difference.example()
    assert difference.applies(example)
    assert ours(example) is difference.ours
    assert theirs(example) is not difference.ours


def some_body(random: Random) -> bytes:
    """Mostly text, now and then bytes that are none."""
    if random.random() < 0.1:
        return random.randbytes(random.randrange(1, 40))
    return random.choice(TEXTS).encode()


def some_key(random: Random, size: int) -> str:
    """A secret of letters and digits."""
    return "".join(random.choices("abcdefghijklmnopqrstuvwxyzABCDEFGH0123456789", k=size))


def some_skew(random: Random) -> int:
    """Seconds around now; not near the tolerance of 300, as the libraries look at their own clock."""
    return random.choice([0, 0, 0, 1, -250, 250, -350, 350, -86_400, 31_536_000])


def spoilt(random: Random, text: str) -> str:
    """`text` with a character put in, taken out or changed."""
    place = random.randrange(len(text) + 1)
    put = random.choice(["", " ", "\t", ",", "=", ".", "0", "a", "A", "+", "é", "\u0663", "_", "v1", "-"])
    return text[:place] + put + text[place + random.randrange(2) :]


def is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
