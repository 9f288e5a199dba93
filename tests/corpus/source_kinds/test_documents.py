# ruff: noqa: E501  (tables of LaTeX, one case a line)
from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.source_kinds.document_pages import name_parts, split_pages
from saber_assets.corpus.source_kinds.documents import KIND
from saber_assets.corpus.source_kinds.front_matter import language_code, split_front_matter
from saber_assets.errors import InputError

PDF = b"%PDF-1.4 not really\n"


def put(folder: Path, **files: str | bytes) -> Path:
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def read(folder: Path, **options: object) -> dict[str, object]:
    documents = list(KIND.read((folder,), options))
    assert len({d.source_id for d in documents}) == len(documents)
    return {d.source_id: d for d in documents}


def test_front_matter_gives_metadata_and_language_and_leaves_the_text(tmp_path):
    put(
        tmp_path,
        imo__a_dot_md='---\nlanguage: German\ncontest: "BWM: 1. Runde"\nyear: 1998\n---\n# Aufgabe 1\n$a<b$\n',
        b_dot_tex="% language: fr\n% contest: OFM\n\\section{Exercice 1}\nSoit $x$. % weg\n",
        c_dot_md="# Problem 1\n---\nyear: 2000\n---\n",
    )
    found = read(tmp_path)
    assert list(found) == ["b", "c", "imo/a"]
    a, b, c = found["imo/a"], found["b"], found["c"]
    assert (a.language, a.text) == ("de", "# Aufgabe 1\n$a<b$\n")
    assert a.metadata == {"language": "German", "contest": "BWM: 1. Runde", "year": "1998"}
    assert (b.language, b.syntax, b.metadata["contest"]) == ("fr", "latex", "OFM")
    assert b.text.startswith("% language: fr") and "% weg" in b.text
    assert (c.text, c.metadata) == ("# Problem 1\n---\nyear: 2000\n---\n", {})
    assert KIND.count((tmp_path,), {}) == 3


@pytest.mark.parametrize(
    ("text", "entries", "rest"),
    [
        (
            "---\nlang: no\nwhen: 12:30\nday: 2020-01-01\n...\nx",
            {"lang": "no", "when": "12:30", "day": "2020-01-01"},
            "x",
        ),
        (
            "---\ntags:\n  - a\n- b\nk: !!python/object:os.system 'x'\n---\n",
            {"tags": "a\nb", "k": "!!python/object:os.system 'x'"},
            "",
        ),
        ("---\nkey: 'it''s'\n# note\n\nother:\n---\n", {"key": "it''s", "other": ""}, ""),
        ("---\nkey: never closed\ntext", {}, "---\nkey: never closed\ntext"),
        ("---\nA sentence, and no entry\n---\n", {}, "---\nA sentence, and no entry\n---\n"),
        ("---\nurl:http://x\n---\n", {}, "---\nurl:http://x\n---\n"),
        ("----\na: b\n----\n", {}, "----\na: b\n----\n"),
    ],
)
def test_front_matter_is_plain_text(text, entries, rest):
    assert split_front_matter(text) == (entries, rest)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("imo.md", ("imo", None, None)),
        ("imo.de.md", ("imo.de", None, "de")),
        ("imo.p12.md", ("imo", 12, None)),
        ("imo.de.p2.md", ("imo.de", 2, "de")),
        ("imo.page-03.pt-BR.md", ("imo.pt-BR", 3, "pt")),
        ("imo.v2.xx.md", ("imo.v2.xx", None, None)),
        ("round.no.2.md", ("round.no.2", None, None)),
        (".md", (".md", None, None)),
        ("p1.md", ("p1", None, None)),
    ],
)
def test_file_names_say_page_and_language(name, parts):
    assert name_parts(name) == parts


def test_languages_are_codes_locales_and_names():
    assert [language_code(t) for t in ("de", "DE-at", "Русский", "xx", "", "v2")] == [
        "de",
        "de",
        "ru",
        None,
        None,
        None,
    ]


def test_pages_are_joined_in_the_order_of_their_numbers(tmp_path):
    pages = {f"a_dot_p{n}_dot_md": f"page {n}\n" for n in (10, 2, 1, *range(3, 10))}
    put(
        tmp_path,
        **pages,
        **{"b_dot_p1_dot_md": "x", "b_dot_p3_dot_md": "z", "a_dot_de_dot_p1_dot_md": "Seite"},
    )
    found = read(tmp_path)
    assert found["a"].text.split("\n\n") == [f"page {n}" for n in range(1, 11)]
    assert found["a"].metadata["pages"] == "10"
    assert found["a.de"].language == "de"
    assert (found["b"].fault, found["b"].metadata["reason"]) == (
        "unreadable",
        "pages are missing: 2",
    )


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("one\ftwo\fthree", ["one", "two", "three"]),
        ("<!-- page 2 -->\ntwo\n<!-- Page 1 -->\none\n", ["one\n", "two\n"]),
        ("{0}------------------------\nzero\n{1}------------------------\none", ["zero\n", "one"]),
        ("a\n<!-- PageBreak -->\nb", ["a\n", "b"]),
        ("[[page 1]]\na\n--- page 2 ---\nb", ["a\n", "b"]),
        ("a\n---\nb <!-- page 1 --> c", ["a\n---\nb <!-- page 1 --> c"]),
    ],
)
def test_marks_divide_a_text_into_pages(text, pages):
    assert split_pages(text) == pages


def test_what_is_no_document_is_left_out_and_nothing_else(tmp_path):
    put(
        tmp_path,
        README_dot_md="# About",
        LICENSE_dot_md="MIT",
        a_dot_md="# 1",
        empty_dot_md="  \n",
        notes_dot_txt="x",
    )
    found = read(tmp_path)
    assert list(found) == ["a", "empty"]
    assert (found["empty"].fault, found["empty"].metadata["reason"]) == (
        "unreadable",
        "it holds no text",
    )
    assert [
        KIND.recognises(tmp_path / n)
        for n in ("a.md", "README.md", "empty.md", "notes.txt", "no.md")
    ] == [True, False, False, False, False]


def test_binary_and_old_encodings(tmp_path):
    put(
        tmp_path,
        zero_dot_md=b"a\0b",
        old_dot_md="Lösung".encode("latin-1"),
        mark_dot_md=b"\xef\xbb\xbf---\r\nyear: 1\r\n---\r\nx\r\n",
    )
    found = read(tmp_path)
    assert found["zero"].fault == "unreadable" and "zero bytes" in found["zero"].metadata["reason"]
    assert (found["old"].text, found["old"].metadata["encoding"]) == (
        "Lösung",
        "not UTF-8, read as latin-1",
    )
    assert (found["mark"].text, found["mark"].metadata) == ("x\n", {"year": "1"})


def test_a_pdf_without_a_command_says_so_and_one_beside_its_text_is_not_read(tmp_path):
    put(tmp_path, a_dot_pdf=PDF, b_dot_pdf=PDF, b_dot_md="text", c_dot_md="m", c_dot_tex="t")
    found = read(tmp_path)
    assert found["a"].fault == "no_text_layer"
    assert (
        found["a"].metadata["reason"] == "a.pdf is a PDF, and no ocr_command is set that reads it"
    )
    assert (found["b"].fault, found["b"].metadata["pdf"]) == (None, "b.pdf")
    assert (found["c"].text, found["c.tex"].text) == ("m", "t")


def script(folder: Path, code: str) -> list[str]:
    path = folder / "tool.py"
    path.write_text("import sys, time, os\npdf, out = sys.argv[1:3]\n" + code)
    return [sys.executable, str(path), "{pdf}", "{out}"]


def test_a_pdf_is_read_once_by_the_command_and_kept_by_content(tmp_path):
    log = tmp_path / "log"
    command = script(
        tmp_path,
        f"open({str(log)!r}, 'a').write('x')\nopen(out, 'w').write('---\\nyear: 7\\n---\\nP1\\fP2 ' + str(len(open(pdf,'rb').read())))",
    )
    source = put(tmp_path / "in", **{"a b; $(touch x)_dot_pdf": PDF})
    options = {"ocr_command": command, "cache": tmp_path / "kept"}
    first = read(source, **options)
    assert first["a b; $(touch x)"].text == f"P1\n\nP2 {len(PDF)}"
    assert first["a b; $(touch x)"].metadata == {"year": "7", "pages": "2"}
    assert read(source, **options) == first
    assert log.read_text() == "x"
    (source / "a b; $(touch x).pdf").rename(source / "other.pdf")
    assert read(source, **options)["other"].text == first["a b; $(touch x)"].text
    assert log.read_text() == "x"
    assert [p.suffix for p in (tmp_path / "kept").iterdir()] == [".md"]
    put(source, other_dot_pdf=PDF + b"more")
    read(source, **options)
    assert log.read_text() == "xx"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print('broken scan', file=sys.stderr); sys.exit(3)", "ended with status 3: broken scan"),
        ("time.sleep(60)", "took more than 0.5 seconds"),
        ("open(out, 'w').write('  ')", "wrote no text"),
        ("pass", "wrote no file {out}"),
    ],
)
def test_a_failed_command_is_a_fault_with_its_reason(tmp_path, code, reason):
    source = put(tmp_path / "in", a_dot_pdf=PDF)
    cache = tmp_path / "kept"
    found = read(
        source,
        ocr_command=script(tmp_path, code),
        ocr_timeout=0.5 if "sleep" in code else 60,
        cache=str(cache),
    )
    assert found["a"].fault == "unreadable"
    assert reason in found["a"].metadata["reason"]
    assert not cache.exists() or not list(cache.iterdir())


def test_a_command_may_print_and_may_be_missing(tmp_path):
    source = put(tmp_path, a_dot_pdf=PDF)
    printing = [sys.executable, "-c", "import sys; print('text of', sys.argv[1][-5:])", "{pdf}"]
    assert read(source, ocr_command=printing)["a"].text == "text of a.pdf\n"
    missing = read(source, ocr_command=["no-such-tool-anywhere", "{pdf}"])["a"]
    assert (missing.fault, "can't be run" in missing.metadata["reason"]) == ("unreadable", True)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"ocr": ["x"]}, "no option"),
        ({"ocr_command": "mytool {pdf}"}, "list of strings"),
        ({"ocr_command": []}, "where the PDF goes"),
        ({"ocr_command": ["mytool", "{out}"]}, "where the PDF goes"),
        ({"ocr_timeout": 0}, "seconds"),
        ({"ocr_timeout": True}, "seconds"),
        ({"cache": 3}, "no folder"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, what):
    put(tmp_path, a_dot_md="x")
    with pytest.raises(InputError, match=what):
        list(KIND.read((tmp_path,), options))


def test_latex_with_problem_environments_is_no_document(tmp_path):
    put(
        tmp_path,
        a_dot_tex="\\begin{problem}x\\end{problem}",
        b_dot_tex="\\section{Problem 1}\nShow it.\n% \\begin{problem}\n\\section{Solution}",
        main_dot_tex="\\documentclass{article}\\begin{document}\\input{a}\\end{document}",
    )
    assert [KIND.recognises(tmp_path / n) for n in ("a.tex", "b.tex", "main.tex")] == [
        False,
        True,
        False,
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=200)
    | st.text(alphabet="-:. \nkey#'\"", max_size=80).map(lambda t: "---\n" + t)
)
def test_any_text_is_kept_whole(text):
    entries, rest = split_front_matter(text)
    assert text.endswith(rest)
    assert (
        entries
        or rest == text
        or not text[: -len(rest) or None].strip(
            "-.# \n\ufeff\t\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
        )
    )
    pages = split_pages(text)
    assert all(page in text for page in pages)
    if (
        "\f" not in text
        and "<" not in text
        and "[" not in text
        and "{" not in text
        and "-" not in text
    ):
        assert pages == [text]
