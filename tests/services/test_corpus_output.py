"""What `saber corpus` prints can't steer a terminal."""

from __future__ import annotations

from saber_services.corpus_tables import on_one_line


def test_control_characters_are_spelled() -> None:
    assert on_one_line("a\x1b[2J\nb é $x<y$") == "a\\x1b[2J\\nb é $x<y$"
