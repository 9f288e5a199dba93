r"""Steps on characters: lost backslashes, line ends, invisible ones, composition, white space."""

from __future__ import annotations

import re
import unicodedata

from saber_assets.corpus.cleaning.regions import outside_verbatim

# A JSON string with `\frac` in place of `\\frac` is read as form feed + "rac". Only remainders
# that belong to a LaTeX command beyond doubt are put right; a lost `\n` (`\nu`) never is, and a
# tab before "an element" or "extend" indents a line.
_LOST = {
    "\x07": ("a", r"lpha|ngle|pprox|rcsin|rccos|rctan|lign|st\b"),
    "\x08": ("b", r"eta|egin|inom|oxed|ar|ig|oldsymbol|ullet|mod|ot\b"),
    "\x0b": ("v", r"ec(?=[{ \\])|ar(?:phi|epsilon|theta|rho|pi|sigma|nothing)\b|ert\b|dots"),
    "\x0c": ("f", r"rac(?=[{\d \\])|orall\b|loor\b"),
    "\t": (
        "t",
        r"imes|heta|ext(?:bf|it|rm|tt|sc|sf|up|sl|md|normal|color)?\{|extstyle\b|riangle"
        r"|frac(?=[{\d])|ilde(?=[{ ])|an(?=[({\\])",
    ),
    "\r": ("r", r"ight(?=[)\]|.}\\])|(?:floor|ceil|angle)(?=[$)\]}|,.;^_=+\\-])"),
}
_LOST_BACKSLASH = {
    control: re.compile(f"{control}(?={rest})") for control, (_, rest) in _LOST.items()
}

_LINE_END = re.compile("\r\n?|[\u2028\u2029\x85\x0b\x0c]")

_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # C0 and C1 but tab and line ends
    "\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ufff9-\ufffb]"
    # joiners, except between letters of scripts that are written with them
    "|(?<![\u0600-\u0dff])[\u200c\u200d]|[\u200c\u200d](?![\u0600-\u0dff])"
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

_SPACE = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_RUN = re.compile(r"(?<=[^\s])[ \t]{2,}(?=\S)|(?<=\S)\t(?=\S)")
_BEFORE_LINE_END = re.compile(r"(?<![ \t\\])[ \t]+(?=\n)")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


def lost_backslashes(text: str) -> str:
    r"""Put back the backslash of `\frac`, `\beta`, `\times`, ... lost in a JSON string."""
    for control, (letter, _) in _LOST.items():
        if control in text:
            text = _LOST_BACKSLASH[control].sub(r"\\" + letter, text)
    return text


def line_ends(text: str) -> str:
    r"""Turn every kind of line end into `\n`: CRLF, CR, U+2028, U+2029, U+0085, VT, FF."""
    return _LINE_END.sub("\n", text)


def invisible(text: str) -> str:
    """Remove characters without width and control characters; a lone surrogate is U+FFFD.

    Joiners stay between letters of Arabic and Indic scripts, which are written with them.
    """
    if text.isascii() and text.isprintable():
        return text
    return _LONE_SURROGATE.sub("\ufffd", _INVISIBLE.sub("", text))


def composed(text: str) -> str:
    """Compose characters (NFC, never NFKC: x² stays x², ½ stays ½)."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def white_space(text: str) -> str:
    r"""Level white space outside verbatim text.

    Runs of spaces and tabs in a line become one space, spaces before a line end go, two blank
    lines and more become one, and the ends of the text are trimmed. Indentation stays.
    """
    return _trim(_level(text))


def _trim(text: str) -> str:
    r"""Cut white space off both ends, but not the space of a last `\ `."""
    short = text.strip()
    backslashes = len(short) - len(short.rstrip("\\"))
    return short + " " if backslashes % 2 and text.rstrip() != text else short


@outside_verbatim
def _level(text: str) -> str:
    if not text.isascii():
        text = _SPACE.sub(" ", text)
    if "  " in text or "\t" in text:
        text = _RUN.sub(" ", text)
    if "\n" in text:
        text = _BEFORE_LINE_END.sub("", text)
        if "\n\n" in text or "\n " in text or "\n\t" in text:
            text = _BLANK_LINES.sub("\n\n", text)
    return text
