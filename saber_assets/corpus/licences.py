"""Licences of problems: one SPDX identifier for each, and what may be done under it.

The rule for **permissive**: a text may be copied, changed and passed on under terms of one's own
choice, and at most attribution is asked for in return. So public-domain dedications, attribution
licences and the permissive licences of software are permissive. Share-alike and copyleft
(CC-BY-SA, GFDL, GPL, ODbL), non-commercial, no-derivatives, custom licences (`LicenseRef-...`)
and unknown ones are not, whatever else they allow.

The rule for **training**: `LicenseRef-AoPS`, no-derivatives and unknown licences rule it out. The
others leave it to the source, custom ones too, since who writes one down knows its terms.

Identifiers are those of the SPDX licence list; custom ones begin with `LicenseRef-`, as SPDX has
it. A choice or a sum of licences (`MIT OR Apache-2.0`) is not an identifier and isn't taken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from saber_assets.errors import InputError

UNKNOWN = "LicenseRef-unknown"
"""Nothing is known of the licence."""
AOPS = "LicenseRef-AoPS"
"""Posts of the Art of Problem Solving forums, under the terms of the site."""
CUSTOM_PREFIX = "LicenseRef-"
_NOT_FOR_TRAINING = (AOPS, UNKNOWN)
_CUSTOM = re.compile(r"licenseref-[a-z0-9.-]+", re.IGNORECASE)

_VERSIONS_OF_CC = ("1.0", "2.0", "2.5", "3.0", "4.0")
_KINDS_OF_CC = ("BY", "BY-SA", "BY-NC", "BY-NC-SA", "BY-ND", "BY-NC-ND")
_SOFTWARE = (
    "MIT", "MIT-0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Zlib", "BSL-1.0",
    "PostgreSQL", "Unlicense", "WTFPL", "NCSA", "AFL-3.0", "ECL-2.0", "Artistic-2.0",
)  # fmt: skip
_DATA = ("CC0-1.0", "CC-PDDC", "PDDL-1.0", "ODC-By-1.0", "CDLA-Permissive-1.0",
         "CDLA-Permissive-2.0", "NIST-PD")  # fmt: skip
_PERMISSIVE = frozenset((*_SOFTWARE, *_DATA, *(f"CC-BY-{version}" for version in _VERSIONS_OF_CC)))
_COPYLEFT = frozenset((
    *(f"{name}-{version}-{which}"
      for name, versions in (("GPL", ("2.0", "3.0")), ("LGPL", ("2.1", "3.0")),
                             ("AGPL", ("3.0",)), ("GFDL", ("1.1", "1.2", "1.3")))
      for version in versions for which in ("only", "or-later")),
    "MPL-2.0", "EPL-2.0", "EUPL-1.2", "ODbL-1.0", "CDLA-Sharing-1.0", "LPPL-1.3c", "OPL-1.0",
    "OPUBL-1.0", "DFSL-1.0", "C-UDA-1.0",
))  # fmt: skip
_RESTRICTED_CC = frozenset(
    f"CC-{kind}-{version}" for kind in _KINDS_OF_CC[1:] for version in _VERSIONS_OF_CC
)
KNOWN = tuple(sorted((*_PERMISSIVE, *_COPYLEFT, *_RESTRICTED_CC, AOPS, UNKNOWN), key=str.lower))
"""The identifiers that are known here."""

_OTHER_NAMES = {
    "apache": "Apache-2.0", "apache 2": "Apache-2.0", "asl 2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause", "bsd 3": "BSD-3-Clause", "new bsd": "BSD-3-Clause",
    "modified bsd": "BSD-3-Clause", "bsd 2": "BSD-2-Clause", "simplified bsd": "BSD-2-Clause",
    "expat": "MIT", "the mit": "MIT", "x11": "MIT", "boost": "BSL-1.0",
    "cc0": "CC0-1.0", "cc 0": "CC0-1.0", "cc zero": "CC0-1.0", "cc0 1.0 universal": "CC0-1.0",
    "creative commons zero": "CC0-1.0", "creative commons 0": "CC0-1.0",
    "public domain": "CC-PDDC", "pd": "CC-PDDC", "us government work": "NIST-PD",
    "odc by": "ODC-By-1.0", "open data commons attribution": "ODC-By-1.0",
    "odbl": "ODbL-1.0", "open database": "ODbL-1.0", "pddl": "PDDL-1.0",
    "gfdl": "GFDL-1.3-or-later", "gnu fdl": "GFDL-1.3-or-later", "fdl": "GFDL-1.3-or-later",
    "gnu free documentation": "GFDL-1.3-or-later", "lppl": "LPPL-1.3c",
    "gpl": "GPL-3.0-or-later", "gnu gpl": "GPL-3.0-or-later", "mpl": "MPL-2.0",
    "wikipedia": "CC-BY-SA-4.0", "wikimedia": "CC-BY-SA-4.0", "proofwiki": "CC-BY-SA-3.0",
    "aops": AOPS, "art of problem solving": AOPS, "artofproblemsolving.com": AOPS,
    "unknown": UNKNOWN, "none": UNKNOWN, "other": UNKNOWN, "noassertion": UNKNOWN, "": UNKNOWN,
    "unspecified": UNKNOWN, "not specified": UNKNOWN, "n/a": UNKNOWN, "?": UNKNOWN,
}  # fmt: skip
_ADDRESSES = (
    (re.compile(r"creativecommons\.org/licenses/([a-z-]+)/(\d\.\d)"), r"CC-\1-\2"),
    (re.compile(r"creativecommons\.org/licenses/([a-z-]+)/?$"), r"CC-\1-4.0"),
    (re.compile(r"creativecommons\.org/publicdomain/zero"), "CC0-1.0"),
    (re.compile(r"creativecommons\.org/publicdomain/mark"), "CC-PDDC"),
    (re.compile(r"(?:opensource|spdx)\.org/licenses?/([^/]+?)(?:\.html|\.json)?/?$"), r"\1"),
    (re.compile(r"apache\.org/licenses/license-2"), "Apache-2.0"),
    (re.compile(r"gnu\.org/(?:licenses|copyleft)/(a?gpl|lgpl|fdl)(?:-(\d\.\d))?"), r"\1 \2"),
    (re.compile(r"opendatacommons\.org/licenses/(by|odbl|pddl)"), r"odc \1"),
    (re.compile(r"artofproblemsolving\.com"), AOPS),
)  # fmt: skip
_CC = re.compile(
    r"(?:cc|creative commons)[ -]*((?:by|sa|nc|nd|attribution|share ?alike|non ?commercial"
    r"|no ?deriv\w*)(?:[ -]+(?:by|sa|nc|nd|share ?alike|non ?commercial|no ?deriv\w*))*)"
    r"[ -]*v?(\d(?:\.\d)?)?(?: (?:international|unported|generic|[a-z]{2}))?"
)
_GNU = re.compile(
    r"(?:gnu )?(a|l)?(gpl|gfdl|fdl|free documentation|general public)"
    r"[ -]*v?(\d(?:\.\d)?)?[ -]*(\+|or[ -]later|only)?"
)
_CC_PARTS = (("BY", ("by", "attribution")), ("NC", ("nc", "noncommercial")),
             ("SA", ("sa", "sharealike")), ("ND", ("nd", "noderiv")))  # fmt: skip


@dataclass(frozen=True)
class Licence:
    """What is known of a licence.

    Attributes:
        spdx: its identifier.
        permissive: whether texts under it may be passed on under any terms, with attribution.
        allows_training: whether it leaves models to be trained on texts under it.
    """

    spdx: str
    permissive: bool
    allows_training: bool


def spdx(text: str) -> str:
    """Return the identifier of a licence as people write it.

    Args:
        text: an identifier in any case, a name such as "CC BY 4.0" or "Apache License 2.0", or
            the address of the licence's text. `LicenseRef-...` stands for a custom licence and
            is taken as it is. An empty text is `UNKNOWN`.

    Raises:
        InputError: for a text that names no licence known here, with the closest that are.
    """
    plain = " ".join(text.strip().split())
    found = _exactly(plain) or _at_address(plain) or _by_name(plain)
    if found is not None:
        return found
    close = get_close_matches(_flat(plain), [_flat(name) for name in KNOWN], 3, 0.5)
    names = [name for flat in close for name in KNOWN if _flat(name) == flat]
    hint = f"write {' or '.join(names)}, or" if names else "write"
    raise InputError(
        f"the licence '{plain[:80]}' is not known",
        f"{hint} an SPDX identifier such as CC-BY-4.0, or {CUSTOM_PREFIX}NAME for one of your own",
    )


def permissive(identifier: str) -> bool:
    """Tell whether texts under a licence may be passed on under any terms, with attribution.

    Args:
        identifier: as `spdx` returns it; one that isn't known is not permissive.
    """
    return identifier in _PERMISSIVE


def allows_training(identifier: str) -> bool:
    """Tell whether a licence leaves models to be trained on texts under it.

    Share-alike and non-commercial licences do; what they ask for must then be kept.

    Args:
        identifier: as `spdx` returns it; a misspelt one is not for training.
    """
    if identifier in _NOT_FOR_TRAINING or "-ND-" in identifier:
        return False
    return identifier in KNOWN or identifier.startswith(CUSTOM_PREFIX)


def licence(text: str) -> Licence:
    """Return what is known of a licence as people write it.

    Raises:
        InputError: as `spdx`.
    """
    identifier = spdx(text)
    return Licence(identifier, permissive(identifier), allows_training(identifier))


def _flat(text: str) -> str:
    return re.sub(r"[\s_-]+", " ", text.lower()).strip()


_BY_FLAT_NAME = {_flat(name): name for name in KNOWN}


def _exactly(text: str) -> str | None:
    known = _BY_FLAT_NAME.get(_flat(text))
    if known is None and _CUSTOM.fullmatch(text):
        return CUSTOM_PREFIX + text[len(CUSTOM_PREFIX) :]
    return known


def _at_address(text: str) -> str | None:
    address = text.lower()
    for pattern, name in _ADDRESSES:
        match = pattern.search(address)
        if match:
            named = match.expand(name).replace("odc by", "ODC-By-1.0").replace("odc ", "")
            return _exactly(named) or _by_name(named)
    return None


def _by_name(text: str) -> str | None:
    name = _flat(text).replace(",", " ")
    name = re.sub(r"\b(?:the|licen[cs]ed?|under|software|data|version|v(?=\d))(?![\w.])", " ", name)
    name = " ".join(re.sub(r"\bv(?=\d)", "", name).replace("(", " ").replace(")", " ").split())
    known = _OTHER_NAMES.get(name) or _BY_FLAT_NAME.get(name)
    return known or _creative_commons(name) or _gnu(name) or _BY_FLAT_NAME.get(f"{name} clause")


def _creative_commons(name: str) -> str | None:
    match = _CC.fullmatch(name)
    if not match:
        return None
    words = re.sub(r"share alike", "sharealike", match[1]).replace(
        "non commercial", "noncommercial"
    )
    words = words.replace("no deriv", "noderiv").replace("-", " ")
    given = words.split()
    parts = [part for part, names in _CC_PARTS if any(word.startswith(names) for word in given)]
    version = match[2] or "4.0"
    return _BY_FLAT_NAME.get(
        _flat("-".join(["CC", *parts, version if "." in version else f"{version}.0"]))
    )


def _gnu(name: str) -> str | None:
    match = _GNU.fullmatch(name)
    if not match:
        return None
    kind = "GFDL" if match[2] in ("gfdl", "fdl", "free documentation") else "GPL"
    kind = f"{(match[1] or '').upper()}{kind}"
    version = match[3] or {"GFDL": "1.3"}.get(kind, "3.0")
    which = "only" if match[4] == "only" or (match[3] and not match[4]) else "or-later"
    version = version if "." in version else f"{version}.0"
    return _BY_FLAT_NAME.get(_flat(f"{kind}-{version}-{which}"))
