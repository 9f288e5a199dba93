"""Independent answer checks for the number theory problems of the sample corpus."""

from fractions import Fraction
from functools import reduce
from itertools import count, permutations, product
from math import factorial, gcd, isqrt, lcm

import sympy as sp
from sympy.ntheory import divisor_count, divisor_sigma, isprime, primerange


def _is_square(n: int) -> bool:
    return n >= 0 and isqrt(n) ** 2 == n


def _digit_sum(n: int) -> int:
    return sum(map(int, str(n)))


def nt_001() -> object:
    # the smaller of x, y lies in 31..60; the other one follows
    found = set()
    for a in range(31, 61):
        b = 1 / (Fraction(1, 30) - Fraction(1, a))
        if b.denominator == 1:
            found |= {(a, int(b)), (int(b), a)}
    return len(found)


def nt_002() -> object:
    right = {}
    for c in range(-50, 51):
        right[4 * c**3] = right.get(4 * c**3, 0) + 1
    pairs = product(range(-50, 51), repeat=2)
    return sum(right.get(a**3 + 2 * b**3, 0) for a, b in pairs)


def nt_003() -> object:
    total = 0
    for a in range(1, 5):
        for b in range(a, 50):
            rest = Fraction(3, 4) - Fraction(1, a) - Fraction(1, b)
            if rest > 0 and rest.numerator == 1 and rest.denominator >= b:
                total += 1
    return total


def nt_004() -> object:
    total = 0
    for a in range(1, 1001):
        disc = 5 * a * a - 4
        if _is_square(disc):
            for b in {3 * a - isqrt(disc), 3 * a + isqrt(disc)}:
                total += b % 2 == 0 and a <= b // 2 <= 1000
    return total


def nt_005() -> object:
    box = range(-40, 41)
    return sum(a * a + 2 * a * b + 2 * b * b - 2 * b == 64 for a, b in product(box, box))


def nt_006() -> object:
    return sum(_is_square(1105 - a * a) and 2 * a * a < 1105 for a in range(1, 34))


def nt_007() -> object:
    return sum(b > 0 and _is_square(2 * b * b + 1) for b in range(1, 70711))


def nt_008() -> object:
    return reduce(gcd, (7**n - 6 * n - 1 for n in range(1, 60)))


def nt_009() -> object:
    return len({n * n % 20 for n in range(20)}) + 1


def nt_010() -> object:
    return sum((2**n - n) % 7 == 0 for n in range(1, 211))


def nt_011() -> object:
    return sum(n for n in range(-500, 501) if (n * n + 3) % (2 * n + 5) == 0)


def nt_012() -> object:
    return sum(k * factorial(k) for k in range(1, 21)) % 1000


def nt_013() -> object:
    value, power = 3**64 - 1, 0
    while value % 2 == 0:
        value, power = value // 2, power + 1
    return power


def nt_014() -> object:
    return sum((2**n - 1) % n == 0 for n in range(1, 1001))


def nt_015() -> object:
    return 7**222 % 23


def nt_016() -> object:
    return next(n for n in count(1) if (n % 5, n % 7, n % 9) == (2, 3, 4))


def nt_017() -> object:
    return sum(k**5 for k in range(1, 101)) % 103


def nt_018() -> object:
    return {n for n in range(101) if (n * n + 10 * n - 11) % 101 == 0}


def nt_019() -> object:
    return pow(7, 7**7, 100)


def nt_020() -> object:
    primes = list(primerange(2, 2000))
    pairs = [(p, q) for p in primes for q in primes if p * p - 2 * q * q == 1]
    (only,) = pairs
    return only


def nt_021() -> object:
    found = [p for p in primerange(2, 20000) if all(isprime(p + d) for d in (2, 6, 8, 14))]
    (only,) = found
    return only


def nt_022() -> object:
    values = {n**4 - 3 * n * n + 9 for n in range(1, 300)}
    return sum(v for v in values if isprime(v))


def nt_023() -> object:
    return sum(not isprime(n) and all(n % p for p in primerange(2, 10)) for n in range(2, 200))


def nt_024() -> object:
    return len({p % 30 for p in primerange(6, 5000)}) + 1


def nt_025() -> object:
    text = str(factorial(15))
    pattern = "1307674a68000"
    assert len(text) == len(pattern)
    assert all(u == v or v == "a" for u, v in zip(text, pattern, strict=True))
    return int(text[pattern.index("a")])


def nt_026() -> object:
    (only,) = [n for n in range(1, 2027) if n + _digit_sum(n) == 2026]
    return only


def nt_027() -> object:
    return sum(int("".join(p)) for p in permutations("1358"))


def nt_028() -> object:
    return sum("11" not in "".join(word) for word in product("123", repeat=6))


def nt_029() -> object:
    return sum(_digit_sum(n) == 15 for n in range(10000))


def nt_030() -> object:
    numbers = (n for n in range(100, 1000) if n % 10)
    return sum(not set(str(n + int(str(n)[::-1]))) & set("02468") for n in numbers)


def nt_031() -> object:
    # the possible last numbers, for several orders of play
    results = set()
    for start in range(30):
        board = [*range(1, 31)]
        board = board[start:] + board[:start]
        step = start % 7 + 1
        while len(board) > 1:
            a = board.pop(step % len(board))
            b = board.pop(0)
            board.append(_digit_sum(a + b))
        last = board[0]
        while last > 9:
            last = _digit_sum(last)
        results.add(last)
    (only,) = results
    return only


def nt_032() -> object:
    return next(n for n in count(1) if reduce(lambda u, v: u * v, (int(d) for d in str(n))) == 720)


def nt_033() -> object:
    value, power = 1, 0
    for d in range(1, 2401):
        if 2400 % d == 0:
            value *= d
    while value % 2 == 0:
        value, power = value // 2, power + 1
    return power


def nt_034() -> object:
    return sum(divisor_count(n) for n in range(1, 31))


def nt_035() -> object:
    return gcd(2**60 - 1, 2**42 - 1)


def nt_036() -> object:
    divisors = [d for d in range(1, 361) if 360 % d == 0]
    return sum(lcm(a, b) == 360 for a, b in product(divisors, divisors))


def nt_037() -> object:
    a, b = 714, 1020
    while a != b:
        a, b = (a - b, b) if a > b else (a, b - a)
    return a


def nt_038() -> object:
    return sum(divisor_sigma(n) % 2 == 1 for n in range(1, 501))


def nt_039() -> object:
    return sum(sp.fibonacci(n) % 8 == 0 for n in range(1, 121))


def nt_040() -> object:
    return sum(sp.fibonacci(n) for n in range(1, 13))


def nt_041() -> object:
    return next(n for n in count(1) if int("1" * n) % 17 == 0)


def nt_042() -> object:
    terms = [2]
    while len(terms) < 4:
        terms.append(terms[-1] ** 2 - terms[-1] + 1)
    return sum(Fraction(1, e) for e in terms)


def nt_043() -> object:
    (only,) = [n for n in range(1, 5000) if _is_square(n * n + 10 * n + 40)]
    return only


def nt_044() -> object:
    return sum(n for n in range(1, 5000) if _is_square(n * n + 96))


def nt_045() -> object:
    return {n for n in range(1, 80) if _is_square(factorial(n) + 3)}


def nt_046() -> object:
    value = 27 * 28 * 29 * 30 + 1
    assert _is_square(value)
    return isqrt(value)


def nt_047() -> object:
    squares: dict[int, int] = {}
    for a in range(-64, 65):
        squares[a * a] = squares.get(a * a, 0) + 1
    pairs = product(squares.items(), repeat=2)
    return sum(m * n * squares.get(4096 - p - q, 0) for (p, m), (q, n) in pairs)


def nt_048() -> object:
    total = 5 * 9**4
    return max(a for a in range(1, isqrt(total)) if _is_square(total - a * a))
