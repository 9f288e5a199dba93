"""What the documentation shows below a command is what the command prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.doc_outputs import BUILD, outputs, run, wrong


@pytest.mark.slow
def test_every_block_is_what_its_command_prints(tmp_path: Path) -> None:
    assert {block.page.name for block in outputs()} >= {"README.md", "choosing-a-retriever.md"}
    run(BUILD, tmp_path)
    assert [f"{block.page.name}: {block.command}" for block in wrong(tmp_path)] == []
