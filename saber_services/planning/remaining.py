"""How many calls come after those that are known, by stated rules."""

from __future__ import annotations

import math

import polars as pl

from saber_assets.model_prompts import prompt_of
from saber_resources.errors import SetupError
from saber_resources.settings import Settings
from saber_resources.warehouse import is_table_file, read_table, table_path
from saber_services.planning.reading import Remaining, corpus_size, document_calls, thread_calls
from saber_services.planning.shadow import Shadow, Step

CATEGORIES = 3
"""Topic-only, summary-only and both: a pool holds `thresholds.k` candidates of each."""
JUDGE = "profiled_judge"
PROFILE = "technique_profile"
ENOUGH_WALKS = 20
"""Finished walks from which on their mean is believed."""
SHOWN_PROBLEMS = {"pairwise_judge": 3, "profiled_judge": 3, "ordinal_judge": 2}
"""Problems that one request shows, where it isn't one."""


def remaining_calls(settings: Settings, step: Step, shadow: Shadow) -> dict[str, Remaining]:
    """Return the calls of a step that can't be told exactly yet, by prompt.

    Args:
        settings: of the build.
        step: one that asks a model and is due.
        shadow: after its run.
    """
    if "pairwise_judgments" in step.assets:
        if step.ran:
            return _later_rounds(settings, step, shadow)
        return _whole_tournament(settings, step, shadow)
    if "thread_problems" in step.assets:
        return thread_calls(settings, step, shadow)
    if "document_problems" in step.assets:
        return document_calls(settings, step, shadow)
    prompt = step.main_prompt()
    if "topic_sets" in step.assets:
        mean, source = _calls_per_walk(settings, step, shadow)
        if step.ran:
            return _rest_of_walks(step, mean, source)
        problems, rule = corpus_size(settings, shadow)
        calls = math.ceil(mean * (problems or 0))
        return {prompt: Remaining(calls, f"{rule}, {mean:.1f} calls each" if problems else rule)}
    if not step.ran:
        problems, rule = corpus_size(settings, shadow)
        rule = f"one call for each of {rule}" if problems else rule
        return {prompt: Remaining(problems or 0, rule)}
    return {}


def _later_rounds(settings: Settings, step: Step, shadow: Shadow) -> dict[str, Remaining]:
    """Pairings of rounds whose pairs depend on verdicts that are not there yet.

    How many there are depends on verdicts too (whoever has met all others sits out), so that they
    are counted as the most that there can be.
    """
    later = sum(judge.later for judge in step.annotators)
    sizes, _ = _pool_sizes(settings, shadow)
    if later:
        most = sum(_pairings(size, settings.profile.tournament.rounds) for size in sizes)
        later = max(later, most - (step.pairings - later))
    lacking = sum(judge.lacking for judge in step.annotators)
    judging = settings.profile.judging
    rule = "at most so many pairs of later rounds, which depend on verdicts not known yet"
    if judging.judge == "ordinal":
        return {}  # the first round shows each candidate, and one score of each is all it takes
    if judging.judge == "profiled":
        # neither the pairs whose profiles are lacking could be looked up
        later += lacking - (step.calls[JUDGE].missing if JUDGE in step.calls else 0)
        rule = "at most so many pairs of later rounds, and pairs of problems without a profile yet"
    calls = later * (judging.votes if judging.judge == "majority" else 1)
    return {_judge_prompt(step): Remaining(calls, rule)} if calls > 0 else {}


def _whole_tournament(settings: Settings, step: Step, shadow: Shadow) -> dict[str, Remaining]:
    """Rounds x (pool // 2) x queries, from the pools where they are known."""
    rounds = settings.profile.tournament.rounds
    judging = settings.profile.judging
    sizes, rule = _pool_sizes(settings, shadow)
    pairings = sum(_pairings(size, rounds) for size in sizes)
    prompt = _judge_prompt(step)
    if judging.judge == "ordinal":
        return {prompt: Remaining(sum(sizes), f"one score for each candidate, {rule}")}
    votes = judging.votes if judging.judge == "majority" else 1
    rule = f"at most {rounds} rounds x (pool // 2) pairs" + (
        f" x {votes} votes, {rule}" if votes > 1 else f", {rule}"
    )
    found = {prompt: Remaining(pairings * votes, rule)}
    if judging.judge == "profiled":
        problems, _ = corpus_size(settings, shadow)
        shown = sum(sizes) + len(sizes)
        found[PROFILE] = Remaining(
            shown if problems is None else min(shown, problems),
            "one profile for each problem that is shown",
        )
    return found


def _judge_prompt(step: Step) -> str:
    return JUDGE if JUDGE in step.prompts_asked() else step.main_prompt()


def _pool_sizes(settings: Settings, shadow: Shadow) -> tuple[list[int], str]:
    pools = shadow.table("candidate_pools")
    if pools is not None:
        sizes = pools.group_by("query_id").len()["len"].to_list()
        return sizes, f"{len(sizes)} pools"
    known, _ = corpus_size(settings, shadow)
    problems = math.inf if known is None else known
    queries = int(min(settings.profile.selection.queries, problems))
    size = int(min(CATEGORIES * settings.profile.thresholds.k, max(problems - 1, 0)))
    return [size] * queries, (
        f"{queries} pools of {size} at most; which they are depends on topics and summaries"
    )


def _pairings(size: int, rounds: int) -> int:
    """Return how many pairs meet; no two of them twice."""
    return min(rounds * (size // 2), size * (size - 1) // 2)


def _rest_of_walks(step: Step, mean: float, source: str) -> dict[str, Remaining]:
    calls = {
        name: count
        for walker in step.annotators
        for name, count in walker.topic_calls.items()
        if name in walker.unfinished
    }
    rest = math.ceil(sum(max(0.0, mean - count) for count in calls.values()))
    if not rest:
        return {}
    rule = f"{mean:.1f} calls a problem ({source}), less those that are known"
    return {step.main_prompt(): Remaining(rest, rule)}


def _calls_per_walk(settings: Settings, step: Step, shadow: Shadow) -> tuple[float, str]:
    finished = [
        count
        for walker in step.annotators
        for name, count in walker.topic_calls.items()
        if name not in walker.unfinished
    ]
    if len(finished) >= ENOUGH_WALKS:
        return sum(finished) / len(finished), "mean of the walks that are known"
    last = table_path(settings.workdir.tables, "topic_sets")
    if is_table_file(last):
        before = read_table(settings.workdir.tables, "topic_sets")
        counted = before.filter(pl.col("calls") > 0)["calls"]
        if len(counted):
            return float(counted.mean()), "mean of the last build"  # type: ignore[arg-type]
    tree = shadow.table("ontology_tree")
    depth = 1 if tree is None else int(tree["depth"].max() or 1)  # type: ignore[arg-type]
    return float(depth), "the tree's depth"


def mean_characters(
    settings: Settings, prompt: str, shadow: Shadow, shown: float | None = None
) -> float:
    """Return the characters of a request of which none could be rendered.

    Args:
        settings: of the build.
        prompt: its name.
        shadow: after its run.
        shown: characters of what the request shows; None: of problems of the corpus.
    """
    try:
        text = len(prompt_of(settings, prompt).text)  # type: ignore[arg-type]
    except SetupError:
        text = 0
    if shown is not None:
        return text + shown
    corpus = shadow.table("deduped_corpus")
    if corpus is None or corpus.is_empty():
        return float(text)
    times = SHOWN_PROBLEMS.get(prompt, 1)
    problem = corpus.select(
        (pl.col("problem").str.len_chars() + pl.col("solution").str.len_chars()).mean()
    ).item()
    return float(text + times * problem)
