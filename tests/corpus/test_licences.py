"""Licences as people write them, and what may be done under each."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.licences import (
    AOPS,
    KNOWN,
    UNKNOWN,
    Licence,
    allows_training,
    licence,
    permissive,
    spdx,
)
from saber_assets.errors import InputError


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("CC BY 4.0", "CC-BY-4.0"),
        ("cc-by-4.0", "CC-BY-4.0"),
        ("CC_BY_SA_3.0", "CC-BY-SA-3.0"),
        ("Creative Commons Attribution 4.0 International", "CC-BY-4.0"),
        ("Creative Commons Attribution-ShareAlike 3.0 Unported", "CC-BY-SA-3.0"),
        ("Creative Commons Attribution-NonCommercial-NoDerivatives 4.0", "CC-BY-NC-ND-4.0"),
        ("CC BY-NC-SA 4.0", "CC-BY-NC-SA-4.0"),
        ("CC-BY-SA", "CC-BY-SA-4.0"),
        ("cc by", "CC-BY-4.0"),
        ("https://creativecommons.org/licenses/by-sa/4.0/", "CC-BY-SA-4.0"),
        ("http://creativecommons.org/licenses/by-nc/2.5/deed.de", "CC-BY-NC-2.5"),
        ("https://creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0"),
        ("CC0", "CC0-1.0"),
        ("public domain", "CC-PDDC"),
        ("mit", "MIT"),
        ("The MIT License", "MIT"),
        ("MIT licence", "MIT"),
        ("https://opensource.org/licenses/MIT", "MIT"),
        ("https://spdx.org/licenses/Apache-2.0.html", "Apache-2.0"),
        ("Apache License, Version 2.0", "Apache-2.0"),
        ("apache-2.0", "Apache-2.0"),
        ("http://www.apache.org/licenses/LICENSE-2.0", "Apache-2.0"),
        ("BSD", "BSD-3-Clause"),
        ("BSD 3-Clause", "BSD-3-Clause"),
        ("bsd-2-clause", "BSD-2-Clause"),
        ("GFDL-1.2", "GFDL-1.2-only"),
        ("GNU Free Documentation License 1.3", "GFDL-1.3-only"),
        ("GFDL", "GFDL-1.3-or-later"),
        ("GPL-3", "GPL-3.0-only"),
        ("GPLv3+", "GPL-3.0-or-later"),
        ("GNU GPL v2 or later", "GPL-2.0-or-later"),
        ("LGPL-2.1-only", "LGPL-2.1-only"),
        ("https://www.gnu.org/licenses/gpl-3.0.html", "GPL-3.0-only"),
        ("ODC-By", "ODC-By-1.0"),
        ("odc-by-1.0", "ODC-By-1.0"),
        ("https://opendatacommons.org/licenses/odbl/", "ODbL-1.0"),
        ("aops", AOPS),
        ("licenseref-aops", AOPS),
        ("unknown", UNKNOWN),
        ("", UNKNOWN),
        ("  ", UNKNOWN),
        ("LicenseRef-our-archive", "LicenseRef-our-archive"),
        ("licenseref-Teachers.2020", "LicenseRef-Teachers.2020"),
    ],
)
def test_what_people_write(text, identifier):
    assert spdx(text) == identifier
    assert spdx(identifier) == identifier


def test_every_known_identifier_is_taken_in_any_case():
    for identifier in KNOWN:
        assert (
            spdx(identifier) == spdx(identifier.lower()) == spdx(identifier.upper()) == identifier
        )
        assert licence(identifier) == Licence(
            identifier, permissive(identifier), allows_training(identifier)
        )


@pytest.mark.parametrize(
    ("text", "close"),
    [("CC-BYE-4.0", "CC-BY-4.0"), ("Apache-3.0", "Apache-2.0"), ("MTI", "MIT"),
     ("GFLD-1.3-only", "GFDL-1.3-only")],
)  # fmt: skip
def test_a_slip_is_named_with_what_was_meant(text, close):
    with pytest.raises(InputError, match=close) as caught:
        spdx(text)
    assert f"'{text}'" in caught.value.what
    assert "LicenseRef-" in caught.value.mend


@pytest.mark.parametrize("text", ["all rights reserved", "MIT OR Apache-2.0", "CC BY 9.0", "用途"])
def test_what_is_no_licence_is_refused(text):
    with pytest.raises(InputError, match="not known"):
        spdx(text)


@pytest.mark.parametrize(
    ("identifier", "may"),
    [
        ("MIT", True), ("Apache-2.0", True), ("CC0-1.0", True), ("CC-BY-3.0", True),
        ("ODC-By-1.0", True), ("BSD-3-Clause", True), ("CC-PDDC", True), ("CC-BY-SA-4.0", False),
        ("CC-BY-NC-4.0", False), ("CC-BY-ND-4.0", False), ("GFDL-1.2-only", False),
        ("GPL-3.0-or-later", False), ("ODbL-1.0", False), (AOPS, False), (UNKNOWN, False),
        ("LicenseRef-ours", False), ("no such thing", False),
    ],
)  # fmt: skip
def test_permissive_asks_for_attribution_at_most(identifier, may):
    assert permissive(identifier) is may


def test_restrictions_are_never_permissive():
    for identifier in KNOWN:
        if any(part in identifier for part in ("-SA-", "-NC-", "-ND-", "GPL", "GFDL", "Ref-")):
            assert not permissive(identifier)


@pytest.mark.parametrize(
    ("identifier", "may"),
    [
        ("MIT", True), ("CC-BY-SA-4.0", True), ("CC-BY-NC-4.0", True), ("CC-BY-ND-4.0", False),
        ("CC-BY-NC-ND-3.0", False), (AOPS, False), (UNKNOWN, False), ("LicenseRef-ours", True),
        ("no such thing", False),
    ],
)  # fmt: skip
def test_training(identifier, may):
    assert allows_training(identifier) is may


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_a_licence_or_an_input_error(text):
    try:
        found = spdx(text)
    except InputError:
        return
    assert spdx(found) == found
    assert found in KNOWN or found.startswith("LicenseRef-")
