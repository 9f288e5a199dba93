r"""Statements typeset again by programs of others, for an interpreter that has them.

Reads a JSON list of statements from standard input and writes, for each, a mapping from the way of
typesetting to the new text (absent where a program refuses the statement):

* mathml: each formula to MathML by latex2mathml, the page back to LaTeX by pandoc;
* unicode: each formula to Unicode signs by unicodeit, without dollars, as copied from a page;
* html: the page by pandoc, its formulas as MathJax finds them, its tags taken out again, its
  entities left in.

Needs `pip install pypandoc-binary latex2mathml unicodeit`; nothing of SABER is imported here.
"""

from __future__ import annotations

import html
import json
import re
import sys

import latex2mathml.converter
import pypandoc
import unicodeit

FORMULA = re.compile(r"\$\$(.+?)\$\$|\\\[(.+?)\\\]|\$(.+?)\$|\\\((.+?)\\\)", re.DOTALL)
MARK = "<hr />"
READER = "markdown-auto_identifiers-smart-raw_html+tex_math_single_backslash"


def formulas(text: str, write) -> str:
    """Replace each formula, delimiters included."""
    return FORMULA.sub(lambda match: write(next(filter(None, match.groups()))), text)


def mathml_pages(texts: list[str]) -> list[str]:
    """Return each statement as HTML with MathML."""
    pages = []
    for text in texts:
        prose = []
        at = 0
        try:
            for match in FORMULA.finditer(text):
                prose.append(html.escape(text[at : match.start()], quote=False))
                prose.append(latex2mathml.converter.convert(next(filter(None, match.groups()))))
                at = match.end()
        except Exception:  # noqa: BLE001 - any fault of that program: not this statement
            pages.append("")
            continue
        prose.append(html.escape(text[at:], quote=False))
        pages.append("<p>" + "".join(prose).replace("\n\n", "</p><p>") + "</p>")
    return pages


def one_by_one(texts: list[str], reader: str, writer: str, options: list[str]) -> list[str]:
    """Convert many statements in one call of pandoc, split at horizontal rules again."""
    rule = MARK if reader.startswith("html") else "\n\n* * * * *\n\n"
    out = pypandoc.convert_text(rule.join(texts), writer, format=reader, extra_args=options)
    cut = r"\\begin\{center\}\\rule\{[^}]*\}\{[^}]*\}\\end\{center\}" if writer == "latex" else MARK
    parts = re.split(cut, out)
    if len(parts) != len(texts):
        raise SystemExit(f"pandoc gave {len(parts)} statements of {len(texts)}")
    return parts


def main() -> None:
    """Convert the statements of standard input."""
    texts = json.load(sys.stdin)
    found: list[dict[str, str]] = [{} for _ in texts]
    pages = mathml_pages(texts)
    places = [place for place, page in enumerate(pages) if page]
    back = one_by_one([pages[place] for place in places], "html", "latex", ["--wrap=auto"])
    for place, text in zip(places, back, strict=True):
        found[place]["mathml"] = text.strip()
    for place, text in enumerate(texts):
        found[place]["unicode"] = formulas(text, unicodeit.replace)
    webbed = one_by_one(texts, READER, "html", ["--mathjax", "--wrap=none"])
    for place, page in enumerate(webbed):
        plain = re.sub(r"</?(?:p|span|em|strong|ul|ol|li|br|h\d|code|pre)(?: [^>]*)?/?>", "", page)
        found[place]["html"] = plain.strip()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
