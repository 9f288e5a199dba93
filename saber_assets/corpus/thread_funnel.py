"""Makes problems with solutions out of forum threads, or says why a thread gives none.

SPEC section 2, "Corpus", AoPS threads: without comments -> not self-contained -> without a
substantive solution -> the most detailed solution, checked against the problem. A `ThreadJudge`
answers the three questions: a language model here, rules without one in `thread_rules`. A thread
whose question the judge could not answer is a failure with the reason, never a guess.

Each thread is decided for itself, so that neither order nor batches change a decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, TypeVar

from saber_assets.asking import Asker, ChatModel, Failure, PromptTemplate
from saber_assets.corpus.llm_replies import read_choice, read_self_contained, read_substantive
from saber_assets.corpus.source_kinds.protocol import Post, SourceThread

THREAD_DROP_REASONS = {
    "no_comments": "nobody answered in the thread",
    "not_self_contained": "its first post isn't one problem that can be solved from it alone",
    "no_substantive_solution": "no comment sets out a solution",
    "no_matching_solution": "no solution in it answers the problem",
    "llm_failure": "the model gave no usable answer, also when asked again",
}
"""Why a thread gives no problem, with what each means; `READER_FAULTS` come in addition."""

MOST_CHARACTERS = 60_000
"""Characters of all comments that a judge is shown of one thread."""
MOST_COMMENTS = 100
"""Comments that a judge is shown of one thread."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ThreadView:
    """What a judge is shown of a thread, as readable text.

    Attributes:
        thread_id: for the record.
        title: of the thread.
        problem: the opening post.
        comments: those that a question is about, in the order of the thread.
    """

    thread_id: str
    title: str
    problem: str
    comments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SelfContainment:
    """Whether an opening post is one problem that can be solved from it alone, and why."""

    holds: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Pick:
    """Position of the chosen solution among the shown, from 0, or None where none answers."""

    position: int | None
    reason: str


class ThreadJudge(Protocol):
    """Answers the questions of the funnel, for many threads at once and in their order."""

    @property
    def name(self) -> str:
        """Name of the model, or what it is instead of one."""
        ...

    def self_contained(self, views: Sequence[ThreadView]) -> Sequence[SelfContainment | Failure]:
        """Tell whether each opening post is a problem; comments aren't shown."""
        ...

    def substantive(self, views: Sequence[ThreadView]) -> Sequence[tuple[bool, ...] | Failure]:
        """Tell of each comment of each view whether it is a substantive solution."""
        ...

    def choose(self, views: Sequence[ThreadView]) -> Sequence[Pick | Failure]:
        """Pick the most detailed comment that answers the problem; all are substantive."""
        ...


@dataclass(frozen=True, slots=True)
class StageCounts:
    """How many comments of a thread got how far.

    Attributes:
        comments: that aren't empty.
        shown: of these, to the judge.
        substantive: of these, solutions.
    """

    comments: int = 0
    shown: int = 0
    substantive: int = 0


@dataclass(frozen=True, slots=True)
class ThreadDecision:
    """What became of a thread.

    Attributes:
        thread: as it was read.
        problem: text of the opening post, untouched, or None where there is a reason.
        solutions: texts of comments, untouched: the chosen one, then the other substantive ones
            in the order of the thread.
        reason: why it gives no problem (a name of `THREAD_DROP_REASONS` or `READER_FAULTS`), or
            None.
        detail: what the judge said, what failed, and which comments weren't shown.
        judge: name of the judge.
        chosen: numbers of the posts in `solutions`.
        counts: how many comments got how far.
    """

    thread: SourceThread
    problem: str | None
    solutions: tuple[str, ...]
    reason: str | None
    detail: str
    judge: str
    chosen: tuple[int, ...] = ()
    counts: StageCounts = StageCounts()


def decide_threads(
    threads: Iterable[SourceThread],
    judge: ThreadJudge,
    *,
    render: Callable[[str], str] = str,
    batch: int = 256,
    progress: Callable[[int], None] | None = None,
) -> Iterator[ThreadDecision]:
    """Yield the decision for each thread, in order.

    Args:
        threads: read as they are needed.
        judge: who answers the questions.
        render: turns BBCode or HTML into what the judge reads; decisions hold untouched texts.
        batch: threads that the judge is asked about at once, and that are held; at least 1.
        progress: called with the number of newly decided threads.

    Raises:
        ValueError: for a batch below 1, and a judge that answers for more or fewer threads or
            comments than it was asked about.
    """
    if batch < 1:
        raise ValueError(f"batch must be at least 1, got {batch}")
    stream = iter(threads)
    while group := list(islice(stream, batch)):
        yield from _decide(group, judge, render)
        if progress is not None:
            progress(len(group))


@dataclass(slots=True)
class _Case:
    """A thread on its way through the funnel."""

    thread: SourceThread
    view: ThreadView
    posts: list[Post]
    counts: StageCounts
    left_out: str
    decision: ThreadDecision | None = None

    def drop(self, judge: ThreadJudge, reason: str, detail: str) -> None:
        text = "; ".join(part for part in (detail, self.left_out) if part)
        self.decision = ThreadDecision(
            self.thread, None, (), reason, text, judge.name, (), self.counts
        )

    def keep(self, judge: ThreadJudge, pick: Pick, posts: list[Post]) -> None:
        text = "; ".join(part for part in (pick.reason, self.left_out) if part)
        self.decision = ThreadDecision(
            self.thread,
            self.thread.posts[0].text,
            tuple(post.text for post in posts),
            None,
            text,
            judge.name,
            tuple(post.number for post in posts),
            self.counts,
        )


def _decide(
    threads: list[SourceThread], judge: ThreadJudge, render: Callable[[str], str]
) -> list[ThreadDecision]:
    cases = [_case_of(thread, judge, render) for thread in threads]
    _ask_self_contained(_open(cases), judge)
    _ask_substantive(_open(cases), judge)
    _ask_choice(_open(cases), judge)
    return [case.decision for case in cases if case.decision is not None]


def _open(cases: list[_Case]) -> list[_Case]:
    return [case for case in cases if case.decision is None]


def _case_of(thread: SourceThread, judge: ThreadJudge, render: Callable[[str], str]) -> _Case:
    """Return a case with the comments that are shown, decided where nothing is to be asked."""
    if thread.fault is not None:
        case = _Case(thread, ThreadView(thread.source_id, "", ""), [], StageCounts(), "")
        case.drop(judge, thread.fault, thread.location)
        return case
    texts = [(post, render(post.text)) for post in thread.posts[1:]]
    texts = [(post, text) for post, text in texts if text.strip()]
    shown = _within_limits(texts)
    left_out = ""
    if len(shown) < len(texts):
        left_out = (
            f"{len(shown)} of {len(texts)} comments were shown: at most {MOST_COMMENTS} with "
            f"{MOST_CHARACTERS} characters in all"
        )
    view = ThreadView(
        thread.source_id,
        thread.title,
        render(thread.posts[0].text),
        tuple(text for _, text in shown),
    )
    counts = StageCounts(len(texts), len(shown))
    case = _Case(thread, view, [post for post, _ in shown], counts, left_out)
    if not texts:
        case.drop(judge, "no_comments", "")
    elif not view.problem.strip():
        case.drop(judge, "not_self_contained", "the opening post is empty or missing")
    return case


def _within_limits(texts: list[tuple[Post, str]]) -> list[tuple[Post, str]]:
    """Return the comments to show: in order, each whole, those left out that don't fit.

    A solution that is cut off would be taken for an incomplete one.
    """
    shown: list[tuple[Post, str]] = []
    left = MOST_CHARACTERS
    for post, text in texts:
        if len(text) <= left and len(shown) < MOST_COMMENTS:
            shown.append((post, text))
            left -= len(text)
    return shown


def _ask_self_contained(cases: list[_Case], judge: ThreadJudge) -> None:
    views = [ThreadView(c.view.thread_id, c.view.title, c.view.problem) for c in cases]
    for case, answer in zip(cases, _asked(judge.self_contained, views), strict=True):
        if isinstance(answer, Failure):
            case.drop(judge, "llm_failure", f"is it self-contained? {answer.reason}")
        elif not answer.holds:
            case.drop(judge, "not_self_contained", answer.reason)
        elif not case.posts:
            case.drop(judge, "no_substantive_solution", "no comment could be shown")


def _ask_substantive(cases: list[_Case], judge: ThreadJudge) -> None:
    answers = _asked(judge.substantive, [case.view for case in cases])
    for case, answer in zip(cases, answers, strict=True):
        if isinstance(answer, Failure):
            case.drop(judge, "llm_failure", f"which comments are solutions? {answer.reason}")
            continue
        marked = list(zip(case.posts, case.view.comments, answer, strict=True))
        solutions = [(post, text) for post, text, substantive in marked if substantive]
        case.counts = StageCounts(case.counts.comments, case.counts.shown, len(solutions))
        case.posts = [post for post, _ in solutions]
        case.view = ThreadView(
            case.view.thread_id,
            case.view.title,
            case.view.problem,
            tuple(text for _, text in solutions),
        )
        if not solutions:
            case.drop(judge, "no_substantive_solution", "")


def _ask_choice(cases: list[_Case], judge: ThreadJudge) -> None:
    answers = _asked(judge.choose, [case.view for case in cases])
    for case, answer in zip(cases, answers, strict=True):
        if isinstance(answer, Failure):
            case.drop(judge, "llm_failure", f"which solution is chosen? {answer.reason}")
        elif answer.position is None:
            case.drop(judge, "no_matching_solution", answer.reason)
        else:
            if not 0 <= answer.position < len(case.posts):
                raise ValueError(
                    f"{judge.name} picked solution {answer.position} of {len(case.posts)} for "
                    f"thread {case.view.thread_id}"
                )
            chosen = case.posts[answer.position]
            others = [post for post in case.posts if post is not chosen]
            case.keep(judge, answer, [chosen, *others])


def _asked(
    question: Callable[[Sequence[ThreadView]], Sequence[T]], views: list[ThreadView]
) -> Sequence[T]:
    return question(views) if views else []


class LlmThreadJudge:
    """A ThreadJudge that asks a language model (SPEC, "Corpus").

    Args:
        chat: the model.
        self_contained: prompt with `title`, `post` (`aops_self_contained`).
        solutions: prompt with `problem`, `comments` (`aops_solutions`).
        choose: prompt with `problem`, `solutions` (`aops_choose`).
        re_asks: how often a reply that can't be used is asked for again.
    """

    def __init__(
        self,
        chat: ChatModel,
        self_contained: PromptTemplate,
        solutions: PromptTemplate,
        choose: PromptTemplate,
        re_asks: int = 2,
    ) -> None:
        self.name = chat.model
        self._asker = Asker(chat, re_asks)
        self._self_contained = self_contained
        self._solutions = solutions
        self._choose = choose

    def self_contained(self, views: Sequence[ThreadView]) -> list[SelfContainment | Failure]:
        """Ask whether each opening post is a self-contained problem."""

        def read(reply: str) -> SelfContainment:
            answer = read_self_contained(reply)
            return SelfContainment(answer.selfContained, answer.reason)

        return self._asker.ask(
            views,
            self._self_contained,
            lambda view: {"title": view.title, "post": view.problem},
            lambda view: read,
            lambda view: view.thread_id,
        )

    def substantive(self, views: Sequence[ThreadView]) -> list[tuple[bool, ...] | Failure]:
        """Ask which comments are substantive solutions."""
        return self._asker.ask(
            views,
            self._solutions,
            lambda view: {"problem": view.problem, "comments": view.comments},
            lambda view: lambda reply: read_substantive(reply, len(view.comments)),
            lambda view: view.thread_id,
        )

    def choose(self, views: Sequence[ThreadView]) -> list[Pick | Failure]:
        """Ask which solution is the most detailed that answers the problem."""

        def read(reply: str, solutions: int) -> Pick:
            choice = read_choice(reply, solutions)
            position = None if choice.chosen is None else choice.chosen - 1
            return Pick(position, choice.reason)

        return self._asker.ask(
            views,
            self._choose,
            lambda view: {"problem": view.problem, "solutions": view.comments},
            lambda view: lambda reply: read(reply, len(view.comments)),
            lambda view: view.thread_id,
        )
