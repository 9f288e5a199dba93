# ruff: noqa: E501  (tables of LaTeX, one case a line)
from __future__ import annotations

import collections
import io
import re
import tarfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.source_kinds import latex_files
from saber_assets.corpus.source_kinds.latex import KIND
from saber_assets.corpus.source_kinds.latex_comments import strip_comments
from saber_assets.errors import InputError

THEOREMS = Path(__file__).parents[3].parent / "shared/data/theorems"


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    return folder


def read(path: Path, **options):
    records = list(KIND.read((path,), options))
    assert len({r.source_id for r in records}) == len(records)
    return records


def pairs(tmp_path: Path, text: str, **options):
    (tmp_path / "a.tex").write_bytes(text.encode())
    return [(r.problem, list(r.solutions)) for r in read(tmp_path / "a.tex", **options)]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a % c\n  b", "a b"),
        ("a%\nb", "ab"),
        ("\\foo%\nbar", "\\foo\nbar"),
        ("a%\n\nb", "a\n\nb"),
        ("a\n  % c\n\nb", "a\n\nb"),
        ("a%\n%\n  b", "ab"),
        ("a%\n  {b}\n% c\nd", "a{b}\nd"),
        ("50\\% x % y\nz", "50\\% x z"),
        ("\\\\% c\nd", "\\\\d"),
        ("\\verb|%| x%", "\\verb|%| x"),
        ("\\verb*!%! x%", "\\verb*!%! x"),
        (
            "\\begin{lstlisting}\n%\n\\end{lstlisting}% c\nx",
            "\\begin{lstlisting}\n%\n\\end{lstlisting}x",
        ),
        ("a\\begin{comment}\n\\end{problem}\n\\end{comment}b", "ab"),
        ("a\\iffalse b \\ifx c \\fi d\\fi e", "a e"),
        ("a\\iffalse b $\\iff$ \\fi e", "a e"),
        ("a\\iffalse b\\else c\\fi", "a c\\fi"),
        ("a\\iffalse b", "a\\iffalse b"),
        ("\\begin{verbatim} % never closed", "\\begin{verbatim} "),
    ],
)
def test_comments_go_as_in_tex(source, text):
    assert strip_comments(source).text == text


STATED = {
    "plain": "\\begin{problem}P\\end{problem} text \\begin{solution}S\\end{solution}",
    "named": "\\begin{problem}[IMO 1]\n P\n\\end{problem}\\begin{solution}S\\end{solution}",
    "exercise with answer": "\\begin{exercise}P\\end{exercise}\n\\begin{answer}S\\end{answer}",
    "proof as solution": "\\begin{problem}P\\end{problem}\n\\medskip\n\\begin{proof}[Solution]S\\end{proof}",
    "proof directly after": "\\begin{problem}P\\end{problem}\n\n\\begin{proof}S\\end{proof}",
    "inside": "\\begin{problem}P\\begin{hint}H\\end{hint}\\begin{sol}S\\end{sol}\\end{problem}",
    "exsheets": "\\begin{question}[topic={a,b}]P\\end{question}\\begin{solution}[print]S\\end{solution}",
    "xsim": "\\DeclareExerciseType{task}{exercise-env=mytask,solution-env=mysol,x=y}"
    "\\begin{mytask}[points=3]P\\end{mytask}\\begin{mysol}S\\end{mysol}",
    "answers": "\\Newassociation{lsg}{Solution}{f}\\begin{ex}P\\begin{lsg}S\\end{lsg}\\end{ex}\\newtheorem{ex}{Exercise}",
    "answers, written out": "\\begin{exercise}P\\end{exercise}\\begin{Ans}{1.2}S\\end{Ans}",
    "exercise package": "\\begin{Exercise}[label={e1},title=T]P\\end{Exercise} words"
    " \\begin{Answer}[ref={e1}]S\\end{Answer}",
    "exercise list": "\\begin{ExerciseList}\\Exercise[label=e]P\\Answer[ref=e]S\\end{ExerciseList}",
    "exam": "\\begin{questions}\\question[5]P\\begin{solution}[2in]S\\end{solution}\\end{questions}",
    "titled": "\\begin{questions}\\titledquestion{T}[5]P\\begin{solutionorbox}S\\end{solutionorbox}\\end{questions}",
    "probsoln": "\\begin{defproblem}{lbl}P\\begin{onlysolution}S\\end{onlysolution}\\end{defproblem}",
    "amsbook": "\\begin{xca}P\\end{xca}\\begin{solution}S\\end{solution}",
    "list": "\\begin{exercises}\\item P\\begin{solution}S\\end{solution}\\end{exercises}",
    "newtheorem": "\\newtheorem{foo}[bar]{Exercise}[section]\\newtheorem*{baz}{Solution}"
    "\\begin{foo}P\\end{foo}\\begin{baz}S\\end{baz}",
    "newtheorem, other language": '\\newtheorem{auf}{Aufgabe}\\newtheorem*{lo}{L\\"osung}'
    "\\begin{auf}P\\end{auf}\\begin{lo}S\\end{lo}",
    "declaretheorem": "\\declaretheorem[style=s,name=Problem]{pr}\\declaretheorem[name={Solution}]{so}"
    "\\begin{pr}[N]P\\end{pr}\\begin{so}S\\end{so}",
    "defthm": "\\defthm{pr}{Problem}{Problems}\\begin{pr}P\\end{pr}\\begin{solution}S\\end{solution}",
    "newenvironment": "\\newenvironment{uebg}[2][x]{\\par\\textbf{Exercise #2}}{\\par}\\newenvironment{lsg}"
    "{\\begin{proof}[Solution]}{\\end{proof}}\\begin{uebg}[y]{3}P\\end{uebg}\\begin{lsg}S\\end{lsg}",
    "tcolorbox": "\\newtcolorbox{problem}[1]{title=#1}\\newtcolorbox{solution}[1]{title=#1}"
    "\\begin{problem}{User Prompt}P\\end{problem}\\begin{solution}{Model \\emph{x}}S\\end{solution}",
    "tcbtheorem": "\\newtcbtheorem{prob}{Problem}{}{pr}\\begin{prob}{T}{lb}P\\end{prob}\\begin{solution}[\\ref{lb}]S\\end{solution}",
    "xparse": "\\NewDocumentEnvironment{prob}{O{} m}{Problem}{}\\begin{prob}[a]{b}P\\end{prob}\\begin{sol}S\\end{sol}",
    "shorthands": "\\newcommand{\\bp}{\\begin{problem}}\\def\\ep{\\end{problem}}\\newcommand\\bs{\\begin{solution}}"
    "\\newcommand{\\es}{\\end{solution}}\\bp P\\ep \\bs S\\es",
    "starred": "\\begin{problem*}P\\end{problem*}\\begin{solution*}S\\end{solution*}",
    "heading with label": "\\begin{exercise}\\label{e}P\\end{exercise}\\section{More}\\subsection*{Solution to \\cref{e}}S\\section{End} x",
    "escaped": "\\begin{problem}P\\end{problem}\\\\begin{problem}x\\\\end{problem}\\begin{solution}S\\end{solution}",
    "verbatim": "\\verb|\\begin{problem}|\\begin{verbatim}\\begin{problem}\\end{verbatim}\\begin{problem}P\\end{problem}\\begin{solution}S\\end{solution}",
}


@pytest.mark.parametrize("name", STATED)
def test_every_way_to_state_a_problem_gives_it_with_its_solution(tmp_path, name):
    found = pairs(tmp_path, STATED[name])
    cut = [(re.sub(r"\\label\{.*?\}", "", problem), solutions) for problem, solutions in found]
    assert cut == [("P", ["S"])]
    assert KIND.recognises(tmp_path / "a.tex")


def test_metadata_comes_along(tmp_path):
    text = (
        "\\documentclass{article}\\usepackage[english,ngerman]{babel}\\begin{document}\n"
        "\\begin{question}[topic=algebra,origin={IMO 2005},label=q]\nFind $x$.\n\\begin{hint}h\\end{hint}\n"
        "\\begin{solution}$x=1$\\begin{answer}1\\end{answer}\\end{solution}\\end{question}\n\\end{document}"
    )
    (tmp_path / "a.tex").write_text(text)
    [record] = read(tmp_path / "a.tex")
    assert (record.source_id, record.location) == ("a#q", "a.tex line 2")
    assert (record.problem, record.answer, record.origin) == ("Find $x$.", "1", "IMO 2005")
    assert record.solutions == ("$x=1$\\begin{answer}1\\end{answer}",)
    assert record.language == "de"
    assert record.metadata == {
        "environment": "question",
        "topic": "algebra",
        "origin": "IMO 2005",
        "hint": "h",
        "label": "q",
    }


P = "\\begin{problem}%s\\end{problem}"
S = "\\begin{solution}%s\\end{solution}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (P % 1 + S % "a" + S % "b", [("1", ["a", "b"])]),
        (P % 1 + P % 2 + S % "b", [("1", []), ("2", ["b"])]),
        (P % 1 + P % 2 + "\\section{Solutions}" + S % "a" + S % "b", [("1", ["a"]), ("2", ["b"])]),
        (
            P % 1 + P % 2 + P % 3 + "\\section{Solutions}" + S % "a" + S % "b",
            [("1", []), ("2", []), ("3", []), ("", ["a"]), ("", ["b"])],
        ),
        (P % 1 + "\\section{Tensors}" + S % "a", [("1", []), ("", ["a"])]),
        (P % 1 + S % "a" + "\\section{Next}" + S % "b", [("1", ["a"]), ("", ["b"])]),
        (
            P % 0 + "\\section{A}" + P % 1 + P % 2 + "\\subsection{Answers}" + S % "a" + S % "b",
            [("0", []), ("1", ["a"]), ("2", ["b"])],
        ),
        (
            "\\begin{problem}[2]x\\end{problem}\\begin{problem}[1]y\\end{problem}\\section{Solutions}\\begin{solution}[1]b\\end{solution}\\begin{solution}[2]a\\end{solution}",
            [("x", ["a"]), ("y", ["b"])],
        ),
        (S % "a" + P % 1, [("", ["a"]), ("1", [])]),
        (P % 1 + "\\begin{example}e\\end{example}" + S % "a", [("1", []), ("", ["a"])]),
        (
            P % 1 + "\\begin{lemma}l\\end{lemma}\\begin{proof}p\\end{proof}" + S % "a",
            [("1", ["a"])],
        ),
        ("\\begin{theorem}t\\end{theorem}" + P % 1 + "\\begin{proof}p\\end{proof}", [("1", [])]),
        (P % 1 + " Some words. \\begin{proof}p\\end{proof}", [("1", [])]),
        (P % ("1" + S % "a" + S % "b"), [("1", ["a", "b"])]),
        (P % ("x(a) A" + S % "sa" + "(b) B" + S % "sb"), [("x(a) A\n\n(b) B", ["sa\n\nsb"])]),
        (
            P % 1 + S % "a \\begin{exercise}2\\end{exercise}",
            [("1", ["a \\begin{exercise}2\\end{exercise}"]), ("2", [])],
        ),
        (
            "\\begin{problem}a\\begin{question}b\\end{question}c\\end{problem}",
            [("a\\begin{question}b\\end{question}c", [])],
        ),
    ],
)
def test_solutions_go_to_their_problems_or_nowhere(tmp_path, text, expected):
    assert pairs(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\\end{problem}" + P % 1 + S % "a", [("1", ["a"])]),
        (P % 1 + "\\end{solution}\\end{enumerate}" + S % "a", [("1", ["a"])]),
        (
            "\\begin{problem}0 " + P % 1 + S % "a" + P % 2 + S % "b",
            [("0", []), ("1", ["a"]), ("2", ["b"])],
        ),
        ("\\begin{problem}0 " + S % "z" + P % 1 + S % "a", [("0", ["z"]), ("1", ["a"])]),
        (P % 1 + "\\begin{solution}a " + P % 2 + S % "b", [("1", ["a"]), ("2", ["b"])]),
        (
            P % 1 + "\\begin{solution}a " + S % "a2" + P % 2 + S % "b",
            [("1", ["a", "a2"]), ("2", ["b"])],
        ),
        (P % 1 + "\\begin{solution}a \\section{Next} prose" + P % 2, [("1", ["a"]), ("2", [])]),
        (
            P % "1 \\begin{enumerate}\\item x" + S % "a" + P % 2,
            [("1 \\begin{enumerate}\\item x", ["a"]), ("2", [])],
        ),
        (
            "\\begin{problem}1\\end{solution}\\begin{solution}a\\end{problem}" + P % 2,
            [("1\\end{solution}", ["a"]), ("2", [])],
        ),
        (
            "\\begin{questions}\\question 1\\begin{solution}a\\question 2\\end{questions}" + P % 3,
            [("1", ["a"]), ("2", []), ("3", [])],
        ),
        (
            "\\begin{exercises}\\item 1\\begin{itemize}\\item i\\end{itemize}\\item 2\\end{exercises}",
            [("1\\begin{itemize}\\item i\\end{itemize}", []), ("2", [])],
        ),
    ],
)
def test_stray_and_unclosed_environments_cost_no_neighbour(tmp_path, text, expected):
    assert pairs(tmp_path, text) == expected
    if "itemize" not in text and "1 \\begin{enumerate}" not in text:
        assert list(KIND.diagnose((tmp_path / "a.tex",), {}))


def test_unclosed_environments_are_told(tmp_path):
    (tmp_path / "a.tex").write_text("x\n\\begin{problem}1\n" + P % 2 + "\n\\end{sol}")
    assert read(tmp_path)[0].metadata["diagnostic"] == "\\begin{problem} is never closed"
    told = [(d.location, d.what) for d in KIND.diagnose((tmp_path,), {})]
    assert sorted(told) == [
        ("a.tex line 2", "\\begin{problem} is never closed"),
        ("a.tex line 4", "\\end{sol} closes nothing"),
    ]


def test_chosen_environments_are_instead_of_the_usual_ones(tmp_path):
    text = (
        "\\newtheorem*{thmplain}{Theorem}\\newtheorem{THM}{Theorem}\\newtheorem{co}{Corollary}"
        "\\begin{thmplain}1\\end{thmplain} words \\begin{proof}a\\end{proof}\\begin{THM}2\\end{THM}"
        "\\begin{co}c\\end{co}\\begin{proof}c\\end{proof}\\begin{theorem*}3\\end{theorem*}"
        "\\begin{proof}p \\begin{proof}q\\end{proof} r\\end{proof}"
        + P % 9
        + "\\begin{proof}[Proof of \\cref{late}]l\\end{proof}\\begin{theorem}\\label{late}4\\end{theorem}"
    )
    chosen = {"problem": ["theorem"], "solution": ["proof"]}
    assert pairs(tmp_path, text, environments=chosen) == [
        ("1", ["a"]),
        ("2", []),
        ("3", ["p \\begin{proof}q\\end{proof} r"]),
        ("\\label{late}4", ["l"]),
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"environment": {}},
        {"environments": ["a"]},
        {"environments": {"proof": ["a"]}},
        {"environments": {"problem": "a"}},
        {"environments": {"problem": [1]}},
    ],
)
def test_wrong_options_are_refused(tmp_path, options):
    (tmp_path / "a.tex").write_text(P % 1)
    with pytest.raises(InputError):
        list(KIND.read((tmp_path,), options))


def test_included_files_are_read_once_where_they_stand(tmp_path):
    put(
        tmp_path,
        {
            "main.tex": "\\documentclass{book}\\input{macros}\\begin{document}\\include{ch/one}\\subfile{ch/two}\n"
            "\\begin{problem}\\input{ch/p}\\end{problem}\\begin{solution}\\input ch/s \\end{solution}\\import{ch/}{three}%\\input{no}\n\\end{document}\\input{late}",
            "solutions-only.tex": "\\begin{document}\\input{ch/one}\\section{Solution to \\ref{far}}far away\\end{document}",
            "macros.tex": "\\newtheorem{ueb}{Exercise}",
            "ch/one.tex": P % "1" + "\n% \\input{../../secret}\n",
            "ch/two.tex": "\\documentclass[../main.tex]{subfiles}\\begin{document}"
            + S % "a"
            + "\\begin{ueb}\\label{far}2\\end{ueb}\\end{document}"
            + P % "after the end",
            "ch/p.tex": "the statement",
            "ch/s.tex": "the solution",
            "ch/three.tex": "\\input{four}",
            "ch/four.tex": P % "4" + "\\input{three}",
            "late.tex": "",
        },
    )
    found = [(r.problem, list(r.solutions), r.location) for r in read(tmp_path)]
    assert found == [
        ("1", ["a"], "ch/one.tex line 1"),
        ("\\label{far}2", ["far away"], "ch/two.tex line 1"),
        ("the statement", ["the solution"], "main.tex line 2"),
        ("4", [], "ch/four.tex line 1"),
    ]
    told = "\n".join(d.what for d in KIND.diagnose((tmp_path,), {}))
    assert (
        "ch/three.tex includes itself" in told
        and "ch/two.tex: 1 environments after its end" in told
    )
    single = list(KIND.read((tmp_path / "main.tex", tmp_path / "ch/one.tex"), {}))
    assert [r.problem for r in single] == ["1", "\\label{far}2", "the statement", "4"]


def test_nothing_outside_the_folder_is_included(tmp_path):
    put(tmp_path, {"secret.tex": P % "secret", "in/ok.tex": P % "ok"})
    (tmp_path / "in/link.txt").symlink_to(tmp_path / "secret.tex")
    names = [
        "../secret",
        "/etc/passwd",
        str(tmp_path / "secret"),
        "|cat x",
        "~/x",
        "a/../../secret.tex",
        "link.txt",
        "missing",
        "x\\y",
    ]
    (tmp_path / "in/main.tex").write_text(
        "\\begin{document}"
        + "".join(f"\\input{{{n}}}\n" for n in names)
        + "\\input{ok}\\end{document}"
    )
    found = read(tmp_path / "in")
    assert [r.problem for r in found if r.problem] == ["ok"]
    assert [r.fault for r in found if not r.problem] == ["unreadable"] * 8
    assert sum("leads out" in r.metadata["reason"] for r in found if r.fault) == 7
    assert read(tmp_path / "in/main.tex") == found


def archive(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for info, data in members:
            info.size = len(data) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(data))
    return path


def test_archives_are_read_in_place_and_safely(tmp_path, monkeypatch):
    link, hard, fifo = (
        tarfile.TarInfo("c/link.tex"),
        tarfile.TarInfo("c/hard.tex"),
        tarfile.TarInfo("c/fifo.tex"),
    )
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    hard.type, hard.linkname = tarfile.LNKTYPE, "../../x.tex"
    fifo.type = tarfile.FIFOTYPE
    body = (P % 1 + "\\input{more}\\input{link}").encode()
    members = [
        (tarfile.TarInfo("c/main.tex"), body),
        (tarfile.TarInfo("./c/more.tex"), (S % "a").encode()),
        (tarfile.TarInfo("../evil.tex"), (P % "evil").encode()),
        (tarfile.TarInfo("/evil.tex"), (P % "evil").encode()),
        (tarfile.TarInfo("c/huge.tex"), b" " * 5000),
        (link, b""),
        (hard, b""),
        (fifo, b""),
    ]
    monkeypatch.setattr(latex_files, "LARGEST_FILE", 4000)
    path = archive(tmp_path / "x.tar.gz", members)
    before = sorted(tmp_path.iterdir())
    found = read(path)
    assert [(r.source_id, r.problem, r.solutions) for r in found if not r.fault] == [
        ("x.tar.gz/c/main#problem-1", "1", ("a",))
    ]
    assert sorted(r.location for r in found if r.fault) == [
        "x.tar.gz/c/huge.tex",
        "x.tar.gz/c/main.tex line 1",
    ]
    assert sorted(tmp_path.iterdir()) == before
    assert KIND.recognises(path) and KIND.recognises(tmp_path)
    assert [r.problem for r in read(tmp_path)] == [r.problem for r in found]
    monkeypatch.setattr(latex_files, "LARGEST_ARCHIVE_TEXT", 50)
    with pytest.raises(InputError, match="unpack it"):
        read(path)
    monkeypatch.undo()
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match="not a sound tar archive"):
        read(path)
    assert KIND.recognises(tmp_path / "no.tar.gz") is False


def test_old_encodings_and_line_ends(tmp_path):
    (tmp_path / "a.tex").write_bytes(
        ("\\usepackage[latin1]{inputenc}\r\n" + P % "Größe\r\n2").encode("latin-1")
    )
    (tmp_path / "b.tex").write_bytes(b"\0" + (P % 1).encode())
    first, second = read(tmp_path)
    assert (first.problem, first.metadata["encoding"]) == ("Größe\n2", "not UTF-8, read as latin-1")
    assert (second.fault, second.metadata["reason"]) == (
        "unreadable",
        "b.tex can't be read: it holds zero bytes",
    )


def test_a_place_without_latex_is_refused(tmp_path):
    (tmp_path / "x.txt").write_text("x")
    for path in (tmp_path, tmp_path / "x.txt", tmp_path / "none.tex", tmp_path / "none.tar.gz"):
        with pytest.raises(InputError):
            read(path)
        assert not KIND.recognises(path)


def test_recognises_problems_and_not_theorems(tmp_path):
    texts = {
        "theorems": "\\begin{theorem}x\\end{theorem}\\begin{proof}\\end{proof}",
        "commented": "%\\begin{problem}\n\\iffalse\\begin{problem}\\fi",
        "defined": "\\newenvironment{q}{\\begin{problem}}{\\end{problem}}",
        "examples": "\\newtheorem{prob}{Proposition}\\begin{prob}\\end{prob}",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.tex").write_text(text)
        assert not KIND.recognises(tmp_path / f"{name}.tex"), name


def test_a_folder_or_archive_is_recognised_by_what_it_declares(tmp_path):
    files = {
        "macros.tex": "\\newtheorem{ex}{Exercise}",
        "ch.tex": "x" * 70_000 + "\\begin{ex}1\\end{ex}",
    }
    put(tmp_path / "in", files)
    members = [(tarfile.TarInfo(name), text.encode()) for name, text in files.items()]
    path = archive(tmp_path / "x.tgz", members)
    assert KIND.recognises(tmp_path / "in") and KIND.recognises(path)
    assert not KIND.recognises(tmp_path / "in/macros.tex")
    assert [r.problem for r in read(path)] == ["1"]


WORDS = st.lists(
    st.sampled_from(
        [
            "Find",
            "$x^2<3$",
            "\\frac{1}{2}",
            "50\\%",
            "a\\\\b",
            "{c}",
            "\\item d",
            "\n\n",
            "\\[y\\]",
            "é",
            "\\begin{cases}z\\end{cases}",
            "[k]",
        ]
    ),
    min_size=1,
    max_size=8,
)
TEXTS = WORDS.map(lambda words: ("A " + " ".join(words) + ".").strip())


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(TEXTS, st.lists(TEXTS, max_size=3), st.booleans(), st.booleans()), max_size=6
    ),
    st.sampled_from(["", "Words. ", "% \\begin{problem}\n", "\\verb|\\begin{problem}|", "\n"]),
)
def test_a_collection_is_read_back_exactly(tmp_path_factory, items, between):
    parts = []
    for problem, solutions, inside, named in items:
        solved = between.join(f"\\begin{{solution}}\n{s}\n\\end{{solution}}" for s in solutions)
        name = "[A {[name]}]" if named else ""
        if inside:
            parts.append(
                f"\\begin{{problem}}{name}\n{problem}\n{between if between.isspace() else ''}{solved}\\end{{problem}}"
            )
        else:
            parts.append(f"\\begin{{problem}}{name}%\n{problem}\\end{{problem}}{between}{solved}")
    path = tmp_path_factory.mktemp("c") / "a.tex"
    path.write_bytes(between.join(parts).encode())
    expected = [(problem, tuple(solutions)) for problem, solutions, inside, _ in items]
    if between not in ("", "\n"):
        expected = [
            (p, ("\n\n".join(s),))
            if inside and len(s) > 1 and between == "Words. "
            else (p, tuple(s))
            for (p, s, inside, _) in items
        ]
        if between == "Words. " or "verb" in between:
            for at, (p, s, inside, _) in enumerate(items):
                if inside and len(s) > 1:
                    expected[at] = (
                        "\n\n".join([p, *[between.strip()] * (len(s) - 1)]),
                        ("\n\n".join(s),),
                    )
    assert [(r.problem, r.solutions) for r in read(path)] == expected


TOKENS = st.sampled_from(
    ["\\begin{problem}", "\\end{problem}", "\\begin{solution}", "\\end{solution}", "\\begin{proof}", "\\end{proof}", "\\begin{hint}", "\\end{hint}",
     "\\begin{questions}", "\\end{questions}", "\\question", "\\begin{exercises}", "\\end{exercises}", "\\item", "\\begin{enumerate}", "\\end{enumerate}",
     "\\section{Solutions}", "\\subsection{Solution to \\ref{a}}", "\\label{a}", "[a]", "[ref=a]", "{", "}", "[", "]", "%", "\n", "\\", "$", " w ", "\\verb|", "|",
     "\\begin{verbatim}", "\\end{verbatim}", "\\iffalse", "\\fi", "\\begin{comment}", "\\end{comment}", "\\newtheorem{q}{Problem}", "\\begin{q}", "\\end{q}",
     "\\begin{document}", "\\end{document}", "\\def\\b{\\begin{problem}}", "\\b ", "\\input{a}", "\\newcommand", "\0", "é", "\u2028", "\r"]
)  # fmt: skip


@settings(max_examples=250, deadline=None)
@given(st.lists(TOKENS, max_size=40).map("".join) | st.text(max_size=60))
def test_odd_tex_never_crashes_and_texts_are_of_the_source(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("c")
    (folder / "a.tex").write_bytes(text.encode("utf-8", "surrogatepass"))
    plain = strip_comments(text.replace("\r\n", "\n").replace("\r", "\n"))
    for record in read(folder):
        if record.fault or "\r" in text or "encoding" in record.metadata:
            continue
        for piece in record.problem.split("\n\n"):
            assert piece in plain.text
        if "solution_parts" not in record.metadata:
            assert all(solution in plain.text for solution in record.solutions)
    KIND.recognises(folder)


@settings(max_examples=200, deadline=None)
@given(st.lists(TOKENS, max_size=40).map("".join))
def test_the_way_back_to_the_source_is_right(text):
    clean = strip_comments(text)
    assert all(
        text[clean.source_offset(at)] == character for at, character in enumerate(clean.text)
    )
    assert all(0 <= start < end <= len(clean.text) for start, end in clean.verbatim)


WRECKS = {
    "percent": "\\\\%", "begin": "\\begin{problem}", "solution": "\\begin{solution}", "mixed": "\\begin{problem}\\begin{solution}\\begin{hint}",
    "bracket": "\\begin{problem}[", "brace": "\\newtheorem{", "verbatim": "\\begin{verbatim}", "iffalse": "\\iffalse ", "verb": "\\verb|",
    "input": "\\input{x}", "items": "\\begin{exercises}\\item a\\begin{itemize}\\item ", "heading": "\\section{Solution to \\ref{a", "proof": "\\begin{proof}",
    "comment": "a %b\n", "spaces": "\\begin{problem}" + " " * 100,
}  # fmt: skip


@pytest.mark.parametrize("name", WRECKS)
def test_time_grows_with_the_size_and_not_with_its_square(tmp_path, name):
    """Eight times the text takes 64 times as long where the time is quadratic."""
    times = []
    for size in (25_000, 200_000):
        path = tmp_path / f"{size}.tex"
        path.write_text(WRECKS[name] * (size // len(WRECKS[name])))
        spent = []
        for _ in range(2):
            start = time.process_time()
            collections.deque(KIND.read((path,), {}), maxlen=0)
            spent.append(time.process_time() - start)
        times.append(min(spent))
    assert times[1] < 32 * max(times[0], 0.003)


# name: environment -> how many a count of its own (comments stripped line by line) finds in all
# files, less those after \endinput or \end{document}
COLLECTIONS = {
    "napkin": (("problem", "sproblem", "dproblem", "exercise", "ques"), {}),
    "hott": (("ex",), {}),
    "openlogic": (("prob",), {}),
    "cring": (("exercise", "question"), {}),
    "deepmind-aletheia": (("problem",), {}),
    "stacks": (("theorem",), {"environments": {"problem": ["theorem"], "solution": ["proof"]}}),
}


@pytest.mark.skipif(
    not (THEOREMS / "hott.tar.gz").exists(), reason="the real collections are not here"
)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n == "stacks" else ()) for n in COLLECTIONS]
)
def test_real_collections_are_counted_as_an_independent_count_does(name):
    environments, options = COLLECTIONS[name]
    path = THEOREMS / f"{name}.tar.gz"
    records = read(path, **options)
    found = collections.Counter(r.metadata["environment"] for r in records if r.problem)
    counted = collections.Counter()
    with tarfile.open(path) as tar:
        for member in tar:
            if not member.isfile() or not member.name.endswith(".tex"):
                continue
            text = tar.extractfile(member).read().decode("utf-8", "replace")
            lines = [re.sub(r"(?<!\\)((?:\\\\)*)%.*", r"\1", line) for line in text.split("\n")]
            text = re.split(r"\\endinput", "\n".join(lines))[0]
            counted.update(e for e in re.findall(r"\\begin\{(\w+)\}", text) if e in environments)
    assert {e: found[e] for e in environments} == {e: counted[e] for e in environments}


@pytest.mark.skipif(
    not (THEOREMS / "hott.tar.gz").exists(), reason="the real collections are not here"
)
def test_solutions_of_real_collections_are_found():
    solved = {
        name: sum(bool(r.problem and r.solutions) for r in read(THEOREMS / f"{name}.tar.gz"))
        for name in ("napkin", "hott", "deepmind-aletheia")
    }
    # 134 `sol` (one after \endinput) and one `soln`; 28 headings "Solution to \cref{...}"
    assert solved == {"napkin": 134, "hott": 28, "deepmind-aletheia": 41}
    several = [
        len(r.solutions)
        for r in read(THEOREMS / "deepmind-aletheia.tar.gz")
        if len(r.solutions) > 1
    ]
    assert several == [2, 2, 2, 2]
