"""A row whose retriever changed and can't be asked keeps its last scores; builds come to rest."""

from __future__ import annotations

import pytest

from saber_resources.settings import load_settings, save_settings
from saber_resources.warehouse import read_table
from saber_services.builder import build, open_board
from saber_services.cli.main import main

CLASS = """\
class Mine:
    name = "mine"

    def __init__(self):
        {begin}

    def score(self, query, documents):
        return [{sign}float(len(text)) for text in documents]
"""


def mean(workdir, name="mine"):
    board = read_table(workdir / "tables", "leaderboard").filter(retriever=name, domain="all")
    return dict(board.select("setting", "mean").iter_rows())


@pytest.fixture
def put(workdir):
    """Write the retriever's file anew, and return what a build makes of it."""
    folder = workdir / "retrievers"
    folder.mkdir()

    def write(begin="pass", sign=""):
        (folder / "mine.py").write_text(CLASS.format(begin=begin, sign=sign))
        return build(load_settings(workdir))

    return write


DOWN = "raise OSError('the server is down')"


def test_a_new_version_that_cannot_be_asked_leaves_the_row_and_makes_nothing(
    workdir, settings, put, capsys
):
    put()
    before = mean(workdir)
    assert before
    outcome = put(DOWN, sign="-")
    assert "the server is down" in outcome.skipped["mine"]
    assert outcome.made == [], "the board is as it was"
    assert mean(workdir) == before
    with open_board(settings) as board:
        states = {(s.name, s.partition): s for s in board.survey().states}
    assert states["retriever_scores", "mine"].reasons == (
        "retriever 'mine' changed, the board has its old scores",
    )
    main(["build", "--workdir", str(workdir)])
    told = " ".join(capsys.readouterr().err.split())
    assert "the server is down" in told
    assert "its row shows its last scores" in told
    assert "nothing to do, 1 not run" in told

    assert "query_measures" in put(sign="-").made, "it is asked again once it can be"
    assert mean(workdir) != before


def test_scores_of_other_pools_leave_the_board_once(workdir, put):
    put()
    settings = save_settings(workdir, None, {"selection": {"seed": 9}})
    assert "query_measures" in put(DOWN).made
    assert mean(workdir) == {}
    outcome = build(settings)
    assert list(outcome.skipped) == ["mine"]
    assert outcome.made == []


def test_one_that_never_ran_is_no_reason_to_make_the_board_again(put):
    assert put(DOWN).made == []
