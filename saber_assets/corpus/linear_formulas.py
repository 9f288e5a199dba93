r"""Writes formulas in a line, for duplicate detection: tokens without braces.

Braces that group nothing go; `\frac{a+b}{2}`, `{a+b \over 2}` and `(a+b)/2` become the last, with
the brackets that a typist needs; scripts stand in one order; `\sin` and `sin` are one token.
Sums, products, powers and arguments keep their extent: `x^{2y}` isn't `x^2y`, and `\cdot` isn't
`\times`.
"""

from __future__ import annotations

from collections.abc import Sequence

_FUNCTIONS = frozenset((
    "sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh",
    "log", "ln", "lg", "exp", "gcd", "lcm", "det", "dim", "ker", "deg", "arg", "max", "min", "sup",
    "inf", "lim", "mod", "sqrt",
))  # fmt: skip
_GREEK_WORDS = frozenset((
    "alpha", "beta", "gamma", "delta", "epsilon", "theta", "lambda", "sigma", "omega", "pi", "phi",
))  # fmt: skip
SHORT_WORDS = frozenset((
    "a", "i", "of", "to", "in", "is", "it", "at", "on", "by", "be", "as", "or", "if", "an", "we",
    "so", "no", "up", "do", "he", "my", "me", "us", "am", "go", "th", "st", "nd", "rd",
))  # fmt: skip
"""English words of at most two letters, which are no names."""
COMMAND_OF_WORD = {word: f"\\{word}" for word in (*_FUNCTIONS, *_GREEK_WORDS)}

_SAME = {
    r"\varepsilon": r"\epsilon", r"\eps": r"\epsilon", r"\varphi": r"\phi",
    r"\vartheta": r"\theta", r"\backslash": r"\setminus", r"\Bbb": r"\mathbb",
    r"\mathds": r"\mathbb", r"\mathbbm": r"\mathbb", r"\cal": r"\mathcal", r"\frak": r"\mathfrak",
    r"\widehat": r"\hat", r"\widetilde": r"\tilde", r"\overline": r"\bar", r"\dotsm": r"\dots",
    r"\longleftrightarrow": r"\leftrightarrow", r"\gets": r"\leftarrow", r"\lgroup": "(",
    r"\rgroup": ")", r"\complement": "c", r"\dag": r"\dagger", r"\intercal": "t",
    r"\langle": r"\langle", r"\colonequals": ":=", r"\coloneqq": ":=",
}  # fmt: skip
_SHOWS_NOTHING = frozenset(
    f"\\{name}" for name in (
        "mathop", "mathord", "mathrel", "mathbin", "mathopen", "mathclose", "mathinner",
        "mathstrut", "relax", "protect", "leavevmode", "normalfont", "large", "Large", "small",
        "scriptscriptstyle", "allowbreak", "nobreak", "hfil", "null", "sl", "sc", "textup",
        "textsc", "mathnormal", "unicode", "cr", "intertext", "cfrac", "displaylines", "bold",
        "pmb", "big|", "upright", "mathup", "textstyle", "nobreakspace", "space",
    )
)  # fmt: skip
_SETS = {f"\\{name}": name.lower() for name in "RNZQC"}
_FENCES = {
    r"\abs": ("|", "|"), r"\abs*": ("|", "|"), r"\norm": (r"\Vert", r"\Vert"),
    r"\norm*": (r"\Vert", r"\Vert"), r"\floor": (r"\lfloor", r"\rfloor"),
    r"\ceil": (r"\lceil", r"\rceil"), r"\set": (r"\{", r"\}"), r"\set*": (r"\{", r"\}"),
    r"\paren": ("(", ")"), r"\angles": (r"\langle", r"\rangle"),
}  # fmt: skip
_TAKES_ARGUMENTS = dict.fromkeys(
    (f"\\{name}" for name in (
        "sqrt", "bar", "vec", "hat", "tilde", "dot", "ddot", "overrightarrow", "overleftarrow",
        "overbrace", "underbrace", "mathbb", "mathcal", "mathscr", "mathfrak", "xrightarrow",
        "xleftarrow", "substack", "cancel", "begin", "end", "color", "overleftrightarrow",
        "widearc", "overarc", "includegraphics", "url",
    )), 1
) | {r"\overset": 2, r"\underset": 2, r"\stackrel": 2, r"\textcolor": 2, r"\href": 2,
     r"\binom": 2}  # fmt: skip
"""Commands whose braces hold what they are about, with how many pairs of them."""
_SUMS = frozenset((
    "+", "-", "=", "<", ">", "/", ":", r"\pm", r"\mp", r"\le", r"\ge", r"\ne", r"\to",
    r"\equiv", r"\cup", r"\cap", r"\in",
))  # fmt: skip
_OPEN, _CLOSE = frozenset(("(", "[", r"\{")), frozenset((")", "]", r"\}"))
_DEEPEST = 40
_LONGEST = 64
_BEFORE_BRACKETS = frozenset(("/", "^", "_", r"\sqrt"))
_NEGATED = {"=": r"\ne", r"\in": r"\notin", "|": r"\nmid", r"\mid": r"\nmid"}
_INFIX = (r"\over", r"\choose")
_PAIRS: set[str] = set()
"""Names of two letters that occurred so far, as `spelling` saw them."""
_BRACES = frozenset("{}")
_MATTERS = frozenset((*_SETS, *_FENCES, *_TAKES_ARGUMENTS, r"\frac", r"\not", "^", "_"))
_TRIGGERS = frozenset((*_MATTERS, *_INFIX, "{", "}"))
_Item = str | list[str]


def spelling(token: str) -> str:
    """Return the one spelling of a token that a formula may spell in several ways, or ""."""
    if token in _SHOWS_NOTHING:
        return ""
    if len(token) == 2 and token.isalpha() and token not in SHORT_WORDS:
        _PAIRS.add(token)
    return COMMAND_OF_WORD.get(token) or _SAME.get(token, token)


def level_tokens(tokens: list[str]) -> list[str]:
    """Return tokens with the spellings of formulas levelled, and without braces.

    Args:
        tokens: as scanned, each in its one `spelling`, braces included.
    """
    tokens = _pairs_apart(tokens)
    if _TRIGGERS.isdisjoint(tokens):
        return _without_needless_brackets(tokens)
    groups: list[list[_Item]] = [[]]
    done = 0
    for place in [place for place, token in enumerate(tokens) if token in _BRACES]:
        groups[-1].extend(tokens[done:place])
        done = place + 1
        if tokens[place] == "{":
            if len(groups) <= _DEEPEST:
                groups.append([])
        elif len(groups) > 1:
            _close(groups)
    groups[-1].extend(tokens[done:])
    while len(groups) > 1:
        _close(groups)
    return _without_needless_brackets(_Reduction(groups[0]).tokens())


def _pairs_apart(tokens: list[str]) -> list[str]:
    """Write names of two letters as two tokens; what two letters of a formula are, nobody knows."""
    if _PAIRS.isdisjoint(tokens):
        return tokens
    out: list[str] = []
    for token in tokens:
        if token in _PAIRS:
            out.extend(token)
        else:
            out.append(token)
    return out


def _close(groups: list[list[_Item]]) -> None:
    group = groups.pop()
    plain = [item for item in group if isinstance(item, str)]
    if len(plain) == len(group) and _TRIGGERS.isdisjoint(plain):
        groups[-1].append(plain)
    else:
        groups[-1].append(_Reduction(group).tokens())


class _Reduction:
    """Writes one group in a line; the groups in it have been written already."""

    def __init__(self, items: Sequence[_Item]) -> None:
        self.items = items
        self.at = 0
        self.out: list[str] = []

    def tokens(self) -> list[str]:
        """Return the group's tokens."""
        for sign in _INFIX:
            if sign in self.items:
                cut = self.items.index(sign)
                left, right = (
                    _Reduction([item for item in part if item not in _INFIX]).tokens()
                    for part in (self.items[:cut], self.items[cut + 1 :])
                )
                return _quotient(left, right) if sign == r"\over" else _binomial(left, right)
        items, out = self.items, self.out
        for place in [
            place for place, item in enumerate(items) if isinstance(item, list) or item in _MATTERS
        ]:
            if place >= self.at:
                out.extend(items[self.at : place])  # type: ignore[arg-type]  # no list among them
                self.at = place
                self._step()
        out.extend(items[self.at :])  # type: ignore[arg-type]
        return out

    def _next(self) -> _Item | None:
        return self.items[self.at] if self.at < len(self.items) else None

    def _argument(self) -> list[str]:
        item = self.items[self.at]
        self.at += 1
        return list(item) if isinstance(item, list) else [item]

    def _step(self) -> None:
        item = self.items[self.at]
        self.at += 1
        if isinstance(item, list):
            self.out.extend(item)
        elif item == r"\frac" and self.at + 1 < len(self.items):
            self._fraction()
        elif item in ("^", "_"):
            self._scripts(item)
        elif item in _SETS:
            self.out.extend((r"\mathbb", _SETS[item]))
        elif item in _FENCES and isinstance(self._next(), list):
            opening, closing = _FENCES[item]
            self.out.extend((opening, *self._argument(), closing))
        elif item == r"\not" and str(self._next()) in _NEGATED:
            self.out.extend(_NEGATED[token] for token in self._argument())
        else:
            self.out.append(item)
            if item in _TAKES_ARGUMENTS:
                self._arguments(_TAKES_ARGUMENTS[item])

    def _arguments(self, count: int) -> None:
        if self._next() == "[":
            while self._next() not in (None, "]"):
                self.out.extend(self._argument())
            if self._next() == "]":
                self.out.extend(self._argument())
        for _ in range(count):
            if not isinstance(self._next(), list):
                break
            self.out.extend(_bracketed(self._argument()))

    def _fraction(self) -> None:
        within = bool(self.out) and (self.out[-1] in ("^", "_") or self.out[-1] in _TAKES_ARGUMENTS)
        written = _quotient(self._argument(), self._argument())
        self.out.extend(("(", *written, ")") if within else written)

    def _scripts(self, sign: str) -> None:
        """Write the scripts of one base, the lower one first; primes without their sign."""
        first = self._script(sign)
        other = self._next()
        if sign == "^" and other == "_" and first[:1] != ["'"] and self.at + 1 < len(self.items):
            self.at += 1
            self.out.extend(self._script("_"))
        self.out.extend(first)

    def _script(self, sign: str) -> list[str]:
        item = self._next()
        if not isinstance(item, list) and (item in (None, r"\frac") or item in _TAKES_ARGUMENTS):
            return [sign]
        body = self._argument()
        if sign == "^" and body and set(body) == {"'"}:
            return body
        if len(body) == 1 and len(body[0]) in (2, 3) and body[0].isalpha():
            body = list(body[0])
        return [sign, "(", *body, ")"] if len(body) > 1 else [sign, *body]


def _bracketed(tokens: list[str]) -> list[str]:
    """Put brackets around several tokens, where none stand yet."""
    if len(tokens) <= 1 or (tokens[0] == "(" and _partners(tokens).get(0) == len(tokens) - 1):
        return tokens
    return ["(", *tokens, ")"]


def _partners(tokens: Sequence[str]) -> dict[int, int]:
    """Return the places of the round brackets that belong together, both ways."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for place, token in enumerate(tokens):
        if token == "(":  # noqa: S105
            opened.append(place)
        elif token == ")" and opened:  # noqa: S105
            found[place] = opened.pop()
            found[found[place]] = place
    return found


def _quotient(above: list[str], below: list[str]) -> list[str]:
    """Write a fraction in a line; `_without_needless_brackets` comes last."""
    return [*_bracketed(above), "/", *_bracketed(below)]


def _binomial(above: list[str], below: list[str]) -> list[str]:
    return [r"\binom", *_bracketed(above), *_bracketed(below)]


def _without_needless_brackets(tokens: list[str]) -> list[str]:
    """Drop the brackets that some write and others don't: (2x)/3, 1/(x^2), sqrt(x), e^(x)."""
    if "(" not in tokens or _BEFORE_BRACKETS.isdisjoint(tokens):
        return tokens
    last = len(tokens) - 1
    places = [
        place
        for place, token in enumerate(tokens)
        if token in _BEFORE_BRACKETS
        and ((place < last and tokens[place + 1] == "(") or tokens[place - 1] == ")")
    ]
    if not places:
        return tokens
    partners = _partners(tokens)
    needless: set[int] = set()
    for place in places:
        token = tokens[place]
        end = partners.get(place + 1, 0)
        if end > place and _needs_none(token, tokens[place + 2 : end][:_LONGEST]):
            needless.update((place + 1, end))
        start = partners.get(place - 1, place) if token == "/" else place  # noqa: S105
        if place - _LONGEST < start < place and (start == 0 or not _applies(tokens[start - 1])):
            inner = tokens[start + 1 : place - 1]
            if inner and not _has_sum(inner):
                needless.update((start, place - 1))
    if not needless:
        return tokens
    return [token for place, token in enumerate(tokens) if place not in needless]


def _needs_none(before: str, inner: list[str]) -> bool:
    """Tell whether what stands between brackets after a sign could stand there without them."""
    if len(inner) == 1:
        return True
    if before != "/":
        return False
    if len(inner) == 3 and inner[1] in ("^", "_"):
        return True
    return inner[:1] == [r"\sqrt"] and len(_bracketed(inner[1:])) == len(inner) - 1


def _applies(token: str) -> bool:
    """Tell whether a bracket after this token belongs to it, as in f(x)."""
    return (
        token[0] == "\\" or token[0].isalnum() or token in (")", "]", "'", "^", "_", "|", "!", "/")
    )


def _has_sum(tokens: list[str]) -> bool:
    depth = 0
    for token in tokens:
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        elif depth == 0 and token in _SUMS:
            return True
    return False
