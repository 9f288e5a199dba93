"""The funnel of forum threads: with rules, and with a language model."""

import json
import random
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.asking import Failure
from saber_assets.corpus import thread_funnel
from saber_assets.corpus.cleaning.clean import markup_to_text
from saber_assets.corpus.source_kinds.aops import KIND
from saber_assets.corpus.source_kinds.protocol import Post, SourceThread
from saber_assets.corpus.thread_funnel import (
    THREAD_DROP_REASONS,
    LlmThreadJudge,
    Pick,
    SelfContainment,
    StageCounts,
    decide_threads,
)
from saber_assets.corpus.thread_rules import (
    RulesThreadJudge,
    comment_fault,
    opening_fault,
    overlap,
    own_words,
)

FIXTURE = Path(__file__).parent / "fixtures" / "aops_threads.jsonl"
EXPECTED = [json.loads(line)["expected"] for line in FIXTURE.read_bytes().splitlines()]
PROMPTS = Path(__file__).parents[2] / "prompts"


def thread(number, *texts, fault=None):
    posts = tuple(Post(n, f"u{n}", n, text) for n, text in enumerate(texts, start=1))
    return SourceThread(str(number), f"dump line {number}", f"T{number}", posts, fault=fault)


# --- rules ------------------------------------------------------------------------------------


def rules(threads, **more):
    return list(decide_threads(threads, RulesThreadJudge(), **more))


@pytest.mark.parametrize("render", [str, markup_to_text])
@pytest.mark.parametrize("batch", [1, 7, 256])
def test_rules_decide_the_fixture_as_expected(batch, render):
    decisions = rules(KIND.read((FIXTURE,), {}), batch=batch, render=render)
    for decision, expected in zip(decisions, EXPECTED, strict=True):
        found = (decision.reason, list(decision.chosen))
        assert found == (expected["reason"], expected["chosen"]), expected["note"]
        assert decision.judge == "rules (no model)"
        by_number = {post.number: post.text for post in decision.thread.posts}
        assert decision.solutions == tuple(by_number[number] for number in decision.chosen)
        assert (decision.problem is None) == (decision.reason is not None)
        assert decision.problem in (None, by_number.get(1))
    reasons = {decision.reason for decision in decisions}
    assert reasons == {None, "unreadable", *THREAD_DROP_REASONS} - {"llm_failure"}


def test_rules_against_what_a_person_says_of_the_comments():
    """Of what the rules take in threads that pass, nothing is wrong; they lose some solutions."""
    taken, solutions = 0, 0
    for decision, expected in zip(rules(KIND.read((FIXTURE,), {})), EXPECTED, strict=True):
        comments = [post for post in decision.thread.posts[1:] if post.text.strip()]
        labels = dict(zip((post.number for post in comments), expected["labels"], strict=True))
        assert len(labels) == decision.counts.comments or decision.thread.fault
        if decision.reason is None:
            assert labels[decision.chosen[0]]
            taken += 1
        if decision.reason in (None, "no_substantive_solution", "no_matching_solution"):
            solutions += any(labels.values())
    assert (taken, solutions) == (14, 16)


FULL = (
    "Since $a+b=1$, we have $1=(a+b)^2=a^2+2ab+b^2$. By AM-GM, $2ab\\le a^2+b^2$. Hence "
    "$1\\le 2(a^2+b^2)$, and the claim follows."
)


@pytest.mark.parametrize(
    ("comment", "fault"),
    [
        (FULL, None),
        (f"[hide=Solution]{FULL}[/hide]", None),
        (f"[quote=x]Find $a$.[/quote]\n{FULL}", None),
        (f"<p>{FULL}</p>", None),
        (FULL + " [img]https://example.org/x.png[/img]", None),
        (f"[quote=x]{FULL}[/quote] Thank you!", "says nothing|short"),
        (f"[quote=x][quote=y]{FULL}[/quote]{FULL}[/quote] Nice", "says nothing|short"),
        (f"<blockquote>{FULL}</blockquote>", "says nothing|short"),
        ("", "says nothing"),
        ("[img]https://example.org/solution.png[/img]", "says nothing"),
        ('<img src="x.png">', "says nothing"),
        ("See above.", "says nothing"),
        ("bump", "short"),
        ("Thanks, that was very helpful and now I understand everything!", "short"),
        ("Cauchy-Schwarz.", "short"),
        ("$a=b=\\frac12$", "short"),
        ("Hint: " + FULL, "hint"),
        ("[b]Hint[/b] " + FULL, "hint"),
        ("Here is a quick sketch. " + FULL, "hint"),
        (FULL + " The rest is easy.", "part"),
        (FULL + " I can't finish from here.", "doubt"),
        (FULL + " Is this correct?", "doubt"),
        ("You forgot the case $a=0$. " + FULL, "remark"),
        ("Generalization: " + FULL, "remark"),
        (FULL + " Could you explain the second step?", "asks"),
        ("Let $x=\\sqrt{a^2+b^2+c^2}$, $y=ab+bc+ca$; then $x^2\\ge y$ so we have $x^2+2y=1$ hence "
         "$x\\ge\\frac1{\\sqrt3}$ by AM-GM", "sketch"),
        ("It is a beautiful problem. I saw it in a competition long ago. My teacher showed me "
         "three ways. All were short. I liked them.", "deduces"),
        ("Lost \ufffd " + FULL, "lost"),
    ],
)  # fmt: skip
def test_rules_for_comments(comment, fault):
    found = comment_fault(comment)
    assert (found is None) if fault is None else re.search(fault, found or "")


@pytest.mark.parametrize(
    ("post", "fault"),
    [
        ("Find all primes $p$ with $p+2$ prime.", None),
        ("Hello everyone, could you please help me? Compute $1+2+\\dots+100$. Thanks!", None),
        ("(IMO) Let $n>1$. Show that\n1) $n$ is odd\n2) $n$ is prime\nif $2^n-1$ is prime.", None),
        ("Let [asy]draw((0,0)--(1,1));[/asy] $ABC$ be a triangle. Find its area if $AB=3$.", None),
        ("Find the area. [attachment=0]a.png[/attachment]", "picture or a file"),
        ("Prove $a=b$ in the figure. ![](x.png)", "picture or a file"),
        ("Find the angle $x$ as shown in the diagram below.", "refers"),
        ("Solve the problem attached: triangles and circles.", "refers"),
        ("Generalise the previous problem. Prove it for $n$ points.", "refers"),
        ("I don't understand this step. Why is $x^2\\ge0$?", "discusses"),
        ("Can somebody check my proof that $\\sqrt2$ is irrational?", "discusses"),
        ("Mock AIME 3 is out, sign up here! 15 problems.", "discusses"),
        ("The number $17$ is my favourite prime of all.", "asks for nothing"),
        ("What is the best way of spending a rainy afternoon?", "no mathematics"),
        ("Problem 1. Prove $a=b$.\nProblem 2. Find $x$ with $x=2$.", "several"),
        ("Prove that for all integers $a$ and $b$ the following holds:", "breaks off"),
        ("Prove it.", "short"),
        ("Find $x$ with $x=2$. " + "word " * 700, "long"),
        ("Prove that $a=a$.\nSolution: it is an equality.", "shows a solution"),
        ("Prove $a=a$ \ufffd for all numbers.", "lost"),
    ],
)  # fmt: skip
def test_rules_for_opening_posts(post, fault):
    found = opening_fault(post)
    assert (found is None) if fault is None else fault in (found or "")


def test_overlap_of_a_problem_with_solutions():
    problem = "Determine all primes $p$ for which $8p^2+1$ is prime."
    assert overlap(problem, "If $p>3$ is prime then $8p^2+1$ is divisible by $3$.") > 0.9
    assert overlap(problem, "Triangle $XYZ$ has a right angle.") < 0.2
    assert overlap("Prove it!", "Anything.") == 1.0


def test_own_words_read_images_of_formulas_whatever_the_order_of_attributes():
    html = (
        '<img alt="$a>b$" class="latex" src="x"> so <img class="latexcenter" src="y" alt="$c$" />'
    )
    assert own_words(html) == "$a>b$ so $c$"


@pytest.mark.parametrize(
    "unclosed",
    ["[quote]", "[hide]", "[url]", "[img", "<img ", '<img "', "<a>", "-\n", "why ", "[asy]",
     "$x$ hence. ", "https://"],
)  # fmt: skip
@pytest.mark.timeout(120)
def test_rules_take_linear_time_on_junk(unclosed):
    opening_fault(unclosed * 4000)
    comment_fault(unclosed * 4000)


# --- the funnel -------------------------------------------------------------------------------


@dataclass
class Script:
    """A judge that follows marks in the texts, and notes what it was shown."""

    name: str = "script"

    def __post_init__(self):
        self.shown = []

    def self_contained(self, views):
        self.shown += [("self_contained", view) for view in views]
        return [
            Failure("no usable reply") if "FAIL1" in view.problem
            else SelfContainment("bad" not in view.problem, "said so")
            for view in views
        ]  # fmt: skip

    def substantive(self, views):
        self.shown += [("substantive", view) for view in views]
        return [
            Failure("no usable reply") if "FAIL2" in view.problem
            else tuple("sol" in comment for comment in view.comments)
            for view in views
        ]  # fmt: skip

    def choose(self, views):
        self.shown += [("choose", view) for view in views]
        picks = []
        for view in views:
            right = [n for n, text in enumerate(view.comments) if "right" in text]
            pick = Pick(right[0] if right else None, "checked")
            picks.append(Failure("no usable reply") if "FAIL3" in view.problem else pick)
        return picks


def test_each_way_through_the_funnel():
    threads = [
        thread(1, "p"),
        thread(2, "p", "", " \n"),
        thread(3, "bad", "sol right"),
        thread(4, "p", "thanks", "hm"),
        thread(5, "p", "sol", "sol too"),
        thread(6, "p", "sol a", "hm", "sol right b", "sol c"),
        thread(7, "FAIL1", "sol"),
        thread(8, "FAIL2", "sol"),
        thread(9, "FAIL3", "sol"),
        thread(10, " ", "sol"),
        thread(11, "p", "sol right", fault="unreadable"),
    ]
    judge = Script()
    found = list(decide_threads(iter(threads), judge))
    assert [d.thread for d in found] == threads
    assert [(d.reason, d.counts) for d in found] == [
        ("no_comments", StageCounts()),
        ("no_comments", StageCounts()),
        ("not_self_contained", StageCounts(1, 1)),
        ("no_substantive_solution", StageCounts(2, 2, 0)),
        ("no_matching_solution", StageCounts(2, 2, 2)),
        (None, StageCounts(4, 4, 3)),
        ("llm_failure", StageCounts(1, 1)),
        ("llm_failure", StageCounts(1, 1)),
        ("llm_failure", StageCounts(1, 1, 1)),
        ("not_self_contained", StageCounts(1, 1)),
        ("unreadable", StageCounts()),
    ]
    kept = found[5]
    assert (kept.problem, kept.solutions) == ("p", ("sol right b", "sol a", "sol c"))
    assert kept.chosen == (4, 2, 5)
    assert kept.detail == "checked"
    for decision in found[6:9]:
        assert decision.detail.endswith("? no usable reply")
        assert (decision.problem, decision.solutions, decision.chosen) == (None, (), ())
    asked = [view.thread_id for stage, view in judge.shown if stage == "self_contained"]
    assert asked == ["3", "4", "5", "6", "7", "8", "9"]
    assert all(not view.comments for stage, view in judge.shown if stage == "self_contained")


def test_the_judge_reads_rendered_text_and_the_decision_holds_untouched_text():
    judge = Script()
    (found,) = decide_threads([thread(1, "<b>p</b>", "<i>sol right</i>", "<br>")], judge,
                              render=lambda text: re.sub("<.*?>", "", text))  # fmt: skip
    assert (found.problem, found.solutions) == ("<b>p</b>", ("<i>sol right</i>",))
    assert found.counts == StageCounts(1, 1, 1)
    assert judge.shown[-1][1].problem == "p"
    assert judge.shown[-1][1].comments == ("sol right",)


def test_long_threads_show_whole_comments_within_the_limits_and_say_so(monkeypatch):
    monkeypatch.setattr(thread_funnel, "MOST_CHARACTERS", 31)
    monkeypatch.setattr(thread_funnel, "MOST_COMMENTS", 3)
    judge = Script()
    texts = ["sol " + "x" * 20, "sol too long", "right sol", "a", "never"]
    (found,) = decide_threads([thread(1, "p", *texts, "b", "c")], judge)
    shown = next(view.comments for stage, view in judge.shown if stage == "substantive")
    assert shown == ("sol " + "x" * 20, "a", "never")
    assert found.counts == StageCounts(7, 3, 1)
    assert "3 of 7 comments were shown" in found.detail
    (found,) = decide_threads([thread(1, "p", "sol right" * 9)], judge)
    assert found.reason == "no_substantive_solution"
    assert "no comment could be shown" in found.detail
    assert "0 of 1 comments" in found.detail


TEXTS = st.sampled_from(["p", "bad", "sol", "sol right", "hm", "", "FAIL1", "FAIL2", "FAIL3"])


@given(
    st.lists(st.lists(TEXTS, min_size=1, max_size=5), max_size=12), st.integers(1, 13), st.randoms()
)
@settings(max_examples=60, deadline=None)
def test_neither_batches_nor_order_change_a_decision(texts, batch, rng):
    threads = [thread(number, *posts) for number, posts in enumerate(texts)]
    whole = list(decide_threads(threads, Script()))
    assert list(decide_threads(threads, Script(), batch=batch)) == whole
    rng.shuffle(threads)
    by_id = {decision.thread.source_id: decision for decision in whole}
    for decision in decide_threads(threads, Script(), batch=batch):
        assert decision == by_id[decision.thread.source_id]


def test_threads_are_read_as_they_are_needed():
    read, done = [], []

    def source():
        for number in range(10):
            read.append(number)
            yield thread(number, "p", "sol right")

    decisions = decide_threads(source(), Script(), batch=4, progress=done.append)
    next(decisions)
    assert read == [0, 1, 2, 3]
    assert len(list(decisions)) == 9
    assert done == [4, 4, 2]


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="batch"):
        list(decide_threads([], Script(), batch=0))
    judge = Script()
    judge.substantive = lambda views: [(True, True)] * len(views)
    with pytest.raises(ValueError, match="zip"):
        list(decide_threads([thread(1, "p", "sol")], judge))
    judge = Script()
    judge.choose = lambda views: [Pick(3, "")] * len(views)
    with pytest.raises(ValueError, match="picked solution 3 of 1 for thread 1"):
        list(decide_threads([thread(1, "p", "sol")], judge))


# --- a language model -------------------------------------------------------------------------


@dataclass
class Reply:
    text: str | None
    error: str | None = None
    logprobs: None = None


class Chat:
    """Answers the three prompts by marks in the texts; some replies are unusable at first."""

    model = "dummy"

    def __init__(self, faulty=(), down=()):
        self.requests = []
        self._faulty, self._down = faulty, down

    def complete(self, requests):
        self.requests += requests
        return [self._reply(request) for request in requests]

    def _reply(self, request):
        key = (request.prompt, request.item)
        if key in self._down:
            return Reply(None, "the endpoint is down")
        if self._faulty and (*key, request.attempt) in self._faulty:
            return Reply('{"comments": [], "chosen": 99, "answersProblem": true, "reason": ""}')
        text = request.messages[1]["content"]
        if request.prompt == "aops_self_contained":
            return Reply(json.dumps({"selfContained": "bad" not in text, "reason": "R1"}))
        parts = re.findall(r"(?:Comment|Solution) (\d+):\n(.*)", text)
        if request.prompt == "aops_solutions":
            marks = [{"number": int(n), "substantive": "sol" in body} for n, body in parts]
            return Reply(json.dumps({"comments": marks}))
        right = next((int(n) for n, body in parts if "right" in body), None)
        answer = {"chosen": right, "answersProblem": right is not None, "reason": "R3"}
        return Reply(json.dumps(answer))


@pytest.fixture(scope="module")
def prompts():
    load_prompt = pytest.importorskip("saber_resources.prompts").load_prompt
    return [load_prompt(name, PROMPTS)
            for name in ("aops_self_contained", "aops_solutions", "aops_choose")]  # fmt: skip


THREADS = [
    thread(1, "p", "sol a", "hm", "sol right b"),
    thread(2, "bad", "sol right"),
    thread(3, "p", "hm"),
    thread(4, "p", "sol"),
    thread(5, "p"),
]


def test_a_model_decides(prompts):
    chat = Chat()
    found = list(decide_threads(THREADS, LlmThreadJudge(chat, *prompts)))
    assert [d.reason for d in found] == [
        None, "not_self_contained", "no_substantive_solution", "no_matching_solution",
        "no_comments",
    ]  # fmt: skip
    assert (found[0].chosen, found[0].detail, found[0].judge) == ((4, 2), "R3", "dummy")
    assert found[1].detail == "R1"
    assert [(r.prompt, r.item) for r in chat.requests] == [
        *(("aops_self_contained", n) for n in "1234"),
        *(("aops_solutions", n) for n in "134"),
        *(("aops_choose", n) for n in "14"),
    ]
    assert "Title: T1" in chat.requests[0].messages[1]["content"]
    for batch in (1, 2):
        again = list(decide_threads(THREADS, LlmThreadJudge(Chat(), *prompts), batch=batch))
        assert again == found


def test_a_model_is_asked_again_and_then_the_thread_is_a_failure(prompts):
    stages = [prompt.name for prompt in prompts]
    for stage in stages:
        once = {(stage, "1", 0)}
        found = list(decide_threads(THREADS, LlmThreadJudge(Chat(once), *prompts)))
        assert found[0].chosen == (4, 2)
        for_ever = {(stage, "1", attempt) for attempt in range(3)}
        found = list(decide_threads(THREADS, LlmThreadJudge(Chat(for_ever), *prompts, re_asks=2)))
        assert found[0].reason == "llm_failure"
        assert "3 replies without usable content" in found[0].detail
        assert found[0].solutions == ()
        assert [d.reason for d in found[1:]] == [
            "not_self_contained", "no_substantive_solution", "no_matching_solution", "no_comments",
        ]  # fmt: skip
        down = Chat(down={(stage, "1")})
        (first, *_) = decide_threads(THREADS, LlmThreadJudge(down, *prompts))
        assert first.reason == "llm_failure"
        assert first.detail.endswith("the endpoint is down")


def test_a_model_on_the_fixture_gives_one_decision_a_thread(prompts):
    threads = list(KIND.read((FIXTURE,), {}))
    found = list(decide_threads(threads, LlmThreadJudge(Chat(), *prompts), batch=5))
    assert [d.thread for d in found] == threads
    random.Random(3).shuffle(threads)
    again = decide_threads(threads, LlmThreadJudge(Chat(), *prompts), batch=9)
    assert sorted(map(repr, again)) == sorted(map(repr, found))
