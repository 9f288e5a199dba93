"""Every answer of the sample corpus agrees with an independent computation and its box."""

import importlib.util
import json
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import sympy
from sympy.parsing.sympy_parser import (
    implicit_multiplication,
    parse_expr,
    rationalize,
    standard_transformations,
)

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "saber_assets" / "corpus" / "sample"
CHECKS = Path(__file__).resolve().parent / "sample_checks"
KEYS = {
    "id",
    "source",
    "licence",
    "problem",
    "solution",
    "answer",
    "topic_family",
    "technique_family",
}
TRANSFORMS = (*standard_transformations, implicit_multiplication, rationalize)
SPACING = r"\\(?:left|right|displaystyle|,|;|:|!|quad|qquad| )"
NAMES = {r"\pi": " pi ", r"\infty": " oo ", r"\cdot": "*", r"\times": "*", r"\ln": " log "}
TOLERANCE = sympy.Float("1e-9")


def _load_rows() -> list[tuple[str, dict]]:
    rows = []
    for path in sorted(CORPUS.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            rows.extend((path.stem, json.loads(line)) for line in lines if line.strip())
    return rows


ROWS = _load_rows()


@cache
def _checks(stem: str) -> ModuleType:
    path = CHECKS / f"{stem}.py"
    assert path.exists(), f"no answer checks for {stem}.jsonl"
    spec = importlib.util.spec_from_file_location(f"sample_checks_{stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _last_box(solution: str) -> str:
    """Content of the last box, found by matching its braces."""
    start = solution.rfind(r"\boxed{")
    assert start >= 0, "the solution has no box"
    start += len(r"\boxed{")
    depth = 1
    for pos in range(start, len(solution)):
        if solution[pos] == "\\":
            continue
        if solution[pos] in "{}" and solution[pos - 1] != "\\":
            depth += 1 if solution[pos] == "{" else -1
            if depth == 0:
                return solution[start:pos]
    raise AssertionError("the box is not closed")


def _argument(tex: str, pos: int) -> tuple[str, int]:
    """The TeX argument that starts at pos (a group, a command or one character), and its end."""
    while tex[pos] == " ":
        pos += 1
    if tex[pos] == "\\":
        end = re.compile(r"\\[A-Za-z]+").match(tex, pos).end()
        return tex[pos:end], end
    if tex[pos] != "{":
        return tex[pos], pos + 1
    depth, end = 1, pos + 1
    while depth:
        depth += {"{": 1, "}": -1}.get(tex[end], 0)
        end += 1
    return tex[pos + 1 : end - 1], end


def _expand(tex: str, command: str, arity: int, form: str) -> str:
    """Replace every use of a TeX command by a plain form of its arguments."""
    pattern = re.compile(command)
    while found := pattern.search(tex):
        args, pos = [], found.end()
        for _ in range(arity):
            arg, pos = _argument(tex, pos)
            args.append(arg)
        tex = tex[: found.start()] + form.format(*args) + tex[pos:]
    return tex


def _plain(tex: str) -> str:
    """A TeX answer in the syntax of sympy."""
    tex = re.sub(r"\\(?:text|mathrm|textrm|operatorname)\{[^}]*\}", "", tex)
    tex = re.sub(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ)|\\degree|\\%|\$", "", tex)
    tex = tex.replace("{,}", "")
    tex = re.sub(SPACING, " ", tex)
    tex = re.sub(r"\\[lr]brace(?![A-Za-z])|\\[{}]", lambda m: "<" if m[0][-1] == "{" else ">", tex)
    tex = re.sub(r"\\[dtc]?frac", r"\\frac", tex)
    tex = _expand(tex, r"\\sqrt\s*\[\s*3\s*\]", 1, " (({}))**(1/3) ")
    tex = _expand(tex, r"\\frac(?![A-Za-z])", 2, " (({})/({})) ")
    tex = _expand(tex, r"\\sqrt(?![A-Za-z])", 1, " sqrt({}) ")
    for name, plain in NAMES.items():
        tex = re.sub(re.escape(name) + r"(?![A-Za-z])", plain, tex)
    tex = _expand(tex, r"\^", 1, "**({})")
    tex = re.sub(r"\\([a-z]+)", r" \1 ", tex)
    tex = re.sub(r"(?<![A-Za-z])e(?![A-Za-z])", "E", tex)
    tex = re.sub(r"\blog\s*(\d+)", r"log(\1)", tex)
    return tex.replace("{", "(").replace("}", ")").replace("<", "{").replace(">", "}").strip()


def _value(obj: object) -> object:
    """A number, tuple or set in one form: sympy object, tuple, frozenset."""
    if isinstance(obj, str):
        obj = parse_expr(obj, transformations=TRANSFORMS)
    if isinstance(obj, set | frozenset | sympy.FiniteSet):
        return frozenset(sympy.nsimplify(sympy.simplify(_value(x))) for x in obj)
    if isinstance(obj, list | tuple | sympy.Tuple):
        return tuple(_value(x) for x in obj)
    return sympy.sympify(obj)


def _same(left: object, right: object) -> bool:
    left, right = _value(left), _value(right)
    if isinstance(left, tuple) or isinstance(right, tuple):
        return (
            isinstance(left, tuple)
            and isinstance(right, tuple)
            and len(left) == len(right)
            and all(_same(a, b) for a, b in zip(left, right, strict=True))
        )
    if isinstance(left, frozenset) or isinstance(right, frozenset):
        return (
            isinstance(left, frozenset)
            and isinstance(right, frozenset)
            and len(left) == len(right)
            and all(any(_same(a, b) for b in right) for a in left)
        )
    if left == right:
        return True
    gap = left - right
    if gap.has(sympy.Float):
        return bool(abs(sympy.N(gap)) < TOLERANCE * (1 + abs(sympy.N(left))))
    return sympy.simplify(gap) == 0


def test_ids_are_unique_and_rows_complete():
    assert ROWS, "the sample corpus is empty"
    ids = [row["id"] for _, row in ROWS]
    assert len(ids) == len(set(ids))
    for stem, row in ROWS:
        assert set(row) == KEYS, (stem, row["id"])
        assert all(isinstance(value, str) and value.strip() for value in row.values()), row["id"]


@pytest.mark.parametrize(("stem", "row"), ROWS, ids=[row["id"] for _, row in ROWS])
def test_answer_agrees_with_check_and_box(stem, row):
    name = row["id"].replace("-", "_")
    check = getattr(_checks(stem), name, None)
    assert check is not None, f"no check function {name}"
    computed = check()
    assert _same(row["answer"], computed), (row["answer"], computed)
    box = _plain(_last_box(row["solution"]))
    assert _same(box, row["answer"]), (box, row["answer"])


@pytest.mark.parametrize(
    ("tex", "answer"),
    [
        (r"\frac{3}{8}", "3/8"),
        (r"-\dfrac12", "-1/2"),
        (r"\frac{4\sqrt{91}}{7}", "4*sqrt(91)/7"),
        (r"648-324\sqrt3", "648 - 324*sqrt(3)"),
        (r"2\pi", "2*pi"),
        (r"\frac\pi4", "pi/4"),
        (r"\left(6,\,2,4\right)", "(6, 2, 4)"),
        (r"\left\{\frac{1}{2}, 1, 2\right\}", "{1/2, 1, 2}"),
        (r"\{1,2\}", "{2, 1}"),
        (r"53^\circ", "53"),
        (r"12\text{ cm}", "12"),
        (r"10{,}000", "10000"),
        (r"2^{10}", "1024"),
        (r"\ln 2", "log(2)"),
        (r"2\ln(3)-1", "2*log(3) - 1"),
        (r"\frac{e^2-1}{2}", "exp(2)/2 - 1/2"),
        (r"\sqrt[3]{4}", "4**(1/3)"),
    ],
)
def test_plain_reads_common_tex(tex, answer):
    assert _same(_plain(tex), answer)


def test_same_tells_values_apart():
    assert not _same("1/2", "2")
    assert not _same("(1, 2)", "(2, 1)")
    assert not _same("{1, 2}", "{1, 3}")
