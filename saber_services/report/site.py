"""The report site: gathered from the tables, rendered page by page, written as one folder."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from markupsafe import Markup, escape

from saber_assets.errors import InputError
from saber_resources.atomic import replacing_folder
from saber_services.report.analyses import read_analyses
from saber_services.report.board import Card, WholeBoard, card_of, read_board
from saber_services.report.content import Content, gather
from saber_services.report.look import Look, environment, look_of
from saber_services.report.mathml import is_available
from saber_services.report.names import page_of
from saber_services.report.outside import Outside
from saber_services.report.overview_rows import index_rows, query_rows
from saber_services.report.pools import NEEDED, Pools, Ranks, read_pools, read_ranks
from saber_services.report.problem_texts import PREVIEW, Problem, ProblemTexts, read_problem_texts
from saber_services.report.provenance import origins_of, prompts_asked
from saber_services.report.query_pages import FOLDED_BEST, FOLDED_WORST, query_pages
from saber_services.report.query_values import QueryValues, read_query_values
from saber_services.report.release import Absence, Release, absence
from saber_services.report.retriever_pages import retriever_pages
from saber_services.report.source import Source
from saber_services.report.typesetting import Typesetter

INDEX = "index.html"
MARK = "report.json"
"""Says that a folder is a report, which the next one may replace."""
KIND = "SABER report"
IGNORED = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
"""What file managers put into folders by themselves."""
MOST_POOLS = 50
MENU = (
    (INDEX, "Leaderboard"),
    ("analyses.html", "Analyses"),
    ("queries.html", "Queries"),
    ("benchmark.html", "Benchmark"),
    ("judging.html", "Judging"),
    ("failures.html", "Failures"),
    ("provenance.html", "Provenance"),
)
FOLDERS = ("r", "q", "p")
OLDER = frozenset({MARK, *FOLDERS, *(page for page, _ in MENU)})
"""What stands in reports of before their mark listed it."""
Progress = Callable[[int], None]


@dataclass(frozen=True)
class Written:
    """What was written: the page to open, and how many pages and bytes there are."""

    index: Path
    pages: int
    size: int


def write_site(site: Site, target: Path, advance: Progress = lambda count: None) -> Written:
    """Write a report and return where it is.

    A report that is already there is replaced as a whole when the new one is complete. The same
    tables give the same bytes. Texts from the tables are hostile input: all are escaped, and each
    page's content policy runs no script but its own.

    Args:
        site: everything that is shown.
        target: the folder; made where it is missing.
        advance: is called with the number of newly written pages.

    Raises:
        InputError: when the target holds something else than a report, or is a mount point.
        SetupError: when a table can't be read.
    """
    check_target(target)
    try:
        with replacing_folder(target) as folder:
            site.write(folder, advance)
            holds = sorted([MARK, *(path.name for path in folder.iterdir())])
            mark = {"kind": KIND, "pages": site.pages, "holds": holds}
            (folder / MARK).write_text(json.dumps(mark) + "\n", encoding="utf-8")
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise _mounted(target) from error
        raise
    return Written(target / INDEX, site.pages, site.size)


def check_target(target: Path) -> None:
    """Refuse to replace what is no report.

    Raises:
        InputError: when the target is a file, a mount point, or a folder with something else in it.
    """
    if target.is_mount():
        raise _mounted(target)
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return
    try:
        mark = json.loads((target / MARK).read_text(encoding="utf-8"))
        known = set(mark.get("holds", OLDER)) if mark["kind"] == KIND else set()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        known = set()
    if not known:
        raise InputError(
            f"{target} holds something else than a report, and would be replaced as a whole",
            "name a new or an empty folder",
        )
    others = sorted({path.name for path in target.iterdir()} - known - IGNORED)
    if others:
        raise InputError(
            f"{target} holds something else than its report ({others[0]}), and would be replaced "
            "as a whole",
            "name a new or an empty folder and copy the report from there, or move that away",
        )


def _mounted(target: Path) -> InputError:
    return InputError(
        f"{target} is a mount point or in use, and can't be replaced as a whole",
        f"name a folder in it, such as {target / 'board'}",
    )


class Site:
    """Everything that the pages show, and the writing of them.

    Attributes:
        title: of the benchmark.
        menu: pages and their names.
        pages: how many are written.
        size: bytes of them.
        setter: sets the texts of problems.
        release: that was imported; None: the benchmark was built.
    """

    menu = MENU

    def __init__(
        self,
        source: Source,
        title: str,
        outside: Outside,
        all_texts: bool,
        release: Release | None = None,
    ) -> None:
        self.source, self.outside, self.release = source, outside, release
        self.title = title.encode("utf-8", "replace").decode("utf-8")
        self.report: Content = gather(source, release)
        self.board: WholeBoard | None = read_board(source)
        self.values: QueryValues | None = read_query_values(source, self.board)
        self.pools: Pools | None = read_pools(source)
        self.ranks: Ranks | None = read_ranks(source, self.pools) if self.pools else None
        self.texts: ProblemTexts | None = (
            read_problem_texts(source, self.pools, all_texts) if self.pools else None
        )
        self.pages = self.size = 0
        self.setter = Typesetter()
        self._templates = environment(self.setter, self._beginning)
        self._looks: dict[str, Look] = {
            "plain": look_of(("base",), ()),
            "tables": look_of(("base", "site"), ("tables",)),
            "board": look_of(("base", "site"), ("tables", "board")),
            "query": look_of(("base", "site"), ("tables", "query")),
        }
        self._folder = Path()

    @classmethod
    def of(
        cls,
        tables: Path,
        title: str,
        outside: Outside | None = None,
        all_texts: bool = False,
        release: Release | None = None,
    ) -> Site:
        """Return the site of a folder of tables.

        Args:
            tables: Parquet files; a section whose table is missing says so.
            title: name of the benchmark.
            outside: what is known beside the tables.
            all_texts: every problem of the pools gets a page, however many there are.
            release: that was imported; None: the benchmark was built.

        Raises:
            SetupError: when a table can't be read.
        """
        return cls(Source(tables), title, outside or Outside(), all_texts, release)

    @property
    def colophon(self) -> Any:
        """What the report was made with and from."""
        return self.report.colophon

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a heuristic did."""
        return self.report.headline.warnings[:1]

    @property
    def unmade(self) -> str:
        """What is said in place of a name that isn't there."""
        return "not made yet" if self.release is None else "not in the release"

    def absence(self, *tables: str) -> Absence:
        """Return why a section that needs these tables has nothing to show."""
        return absence(self.source, self.release, *tables)

    @property
    def expected(self) -> int:
        """How many pages there will be."""
        retrievers = len(self.board.retrievers) if self.board else 0
        queries = len(self.pools.queries) if self.pools else 0
        return len(MENU) + retrievers + queries + (len(self.texts.paged) if self.texts else 0)

    @cached_property
    def cards(self) -> dict[str, Card]:
        """The card of each retriever on the board."""
        versions = self.ranks.versions if self.ranks else {}
        retrievers = self.board.retrievers if self.board else {}
        return {
            name: card_of(
                name,
                family,
                versions.get(name, ""),
                {**self.outside.cards.get(name, {}), "parity": self.outside.parity(name)},
            )
            for name, family in retrievers.items()
        }

    @cached_property
    def previews(self) -> dict[str, Markup]:
        """The beginning of each query."""
        queries = self.values.queries if self.values else ()
        both = {*queries, *(self.pools.queries if self.pools else ())}
        paged: Mapping[str, Problem] = self.texts.paged if self.texts else {}
        return {
            query: self.setter.short(paged[query].statement, PREVIEW)
            if query in paged
            else Markup()
            for query in both
        }

    def write(self, folder: Path, advance: Progress) -> None:
        """Write all pages into an empty folder."""
        self._folder, self._advance = folder, advance
        for kind in FOLDERS:
            (folder / kind).mkdir()
        self._overview()
        self._retrievers()
        self._queries()
        self._problems()
        # last: it tells how many formulas could not be converted on all pages before it
        self._page(
            "provenance.html",
            "provenance",
            report=self.report,
            outside=self.outside,
            prompts=prompts_asked(self.outside.made),
            origins=origins_of(is_released=self.release is not None),
            versions=sorted(self.ranks.versions.items()) if self.ranks else [],
            measure=self.board.standings.boards[0].measure if self.board else "",
            setter=self.setter,
            converter=is_available(),
        )

    def _overview(self) -> None:
        self._page(
            INDEX,
            "index",
            "board",
            report=self.report,
            board=self.board,
            cards=self.cards,
            rows=index_rows(self.board),
        )
        seconds = self.outside.seconds
        found = read_analyses(self.source, self.board, self.cards, seconds)
        self._page("analyses.html", "analyses", found=found)
        self._page(
            "queries.html",
            "queries",
            queries=query_rows(self.pools, self.values),
            domains=sorted({d for own in self.pools.domains for d in own}) if self.pools else [],
            previews=self.previews,
            lacking=self.absence(*NEEDED),
        )
        for name in ("benchmark", "judging"):
            self._page(f"{name}.html", name, report=self.report)
        self._page(
            "failures.html",
            "failures",
            report=self.report,
            linked=set(self.board.retrievers) if self.board else set(),
            known=set(self.pools.queries) if self.pools else set(),
        )

    def _retrievers(self) -> None:
        if self.board is None:
            return
        known = set(self.pools.queries) if self.pools else set()
        for page in retriever_pages(
            self.source, self.board, self.cards, self.values, self.outside.seconds
        ):
            self._page(
                page_of("r", page.card.name),
                "retriever",
                page=page,
                previews=self.previews,
                known=known,
            )

    def _queries(self) -> None:
        if self.pools is None or self.ranks is None or self.texts is None:
            return
        paged = self.texts.paged
        for page in query_pages(
            self.source, self.pools, self.ranks, self.values, self.board, self.outside
        ):
            ends = page.candidates[:FOLDED_BEST] + page.candidates[FOLDED_BEST:][-FOLDED_WORST:]
            folded = [(one, paged[one.identity]) for one in ends if one.identity in paged]
            self._page(
                page_of("q", page.query_id),
                "query",
                "query",
                page=page,
                problem=paged.get(page.query_id),
                folded=folded,
            )

    def _problems(self) -> None:
        if self.pools is None or self.texts is None:
            return
        queries = set(self.pools.queries)
        wanted = pl.col("candidate_id").is_in(sorted(self.texts.paged))
        rows = (
            self.pools.rows.with_columns(place=pl.int_range(1, pl.len() + 1).over("query_id"))
            .filter(wanted)
            .select("candidate_id", "query_id", "place", "rating")
        )
        pools: dict[str, list[tuple[str, int, float | None]]] = {}
        for candidate, *row in rows.iter_rows():
            pools.setdefault(candidate, []).append(tuple(row))
        for identity, problem in self.texts.paged.items():
            own = pools.get(identity, [])
            self._page(
                page_of("p", identity),
                "problem",
                "plain",
                problem=problem,
                is_query=identity in queries,
                pools=own[:MOST_POOLS],
                pools_count=len(own),
            )

    def _beginning(self, identity: str) -> Markup:
        """Return a line about a candidate for its query's page."""
        if self.texts is None:
            return escape(identity)
        problem = self.texts.paged.get(identity)
        if problem is not None:
            line = Markup('<a href="../{}">{}</a> ').format(page_of("p", identity), identity)
            return line + self.setter.short(problem.statement, PREVIEW)
        begins = self.texts.beginnings.get(identity)
        if begins is None:
            return Markup("{} (not in the corpus any more)").format(identity)
        return Markup("{} {}").format(identity, self.setter.plain(begins, PREVIEW))

    def _page(self, name: str, template: str, look: str = "tables", **values: Any) -> None:
        root = "../" * name.count("/")
        text = self._templates.get_template(f"{template}.html.j2").render(
            site=self, look=self._looks[look], root=root, here=name, **values
        )
        coded = text.encode("utf-8", "replace")
        (self._folder / name).write_bytes(coded)
        self.pages += 1
        self.size += len(coded)
        self._advance(1)
