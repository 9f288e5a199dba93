"""What calls cost, and the limit at which a run stops."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from saber_resources.chat_request import Usage
from saber_resources.errors import SetupError

THIS_RUN = uuid.uuid4().hex
"""Whose spending counts where no run is named: that of this process."""


@dataclass(frozen=True)
class Prices:
    """Prices for a million tokens, in any currency.

    Attributes:
        input: of prompt tokens.
        output: of completion tokens.
        cached_input: of prompt tokens that were in the prefix cache; None: like the others.
    """

    input: float
    output: float
    cached_input: float | None = None

    def price(self, usage: Usage) -> float:
        """Return what a call cost."""
        cached = 0 if self.cached_input is None else (usage.cached_tokens or 0)
        return (
            (usage.tokens_in - cached) * self.input
            + cached * (self.cached_input or 0.0)
            + usage.tokens_out * self.output
        ) / 1e6


class CostLimitError(SetupError):
    """A run has spent what it may.

    Args:
        spent: by this run.
        limit: the most that it may spend.
    """

    def __init__(self, spent: float, limit: float) -> None:
        self.spent, self.limit = spent, limit
        super().__init__(
            f"this run has spent {spent:.4g} on language-model calls, and llm.max_cost is "
            f"{limit:.4g}",
            "every answer is kept: run the same command again to go on for as much once more, or "
            "raise llm.max_cost",
        )


class Budget:
    """Adds up a run's spending and says whether another call may start.

    Args:
        prices: None where they are unknown; then nothing is added up.
        limit: the most that the run may spend, or None.
        before: what it has spent before, also in other processes.

    Raises:
        SetupError: for a limit without prices.
    """

    def __init__(self, prices: Prices | None, limit: float | None, before: float = 0.0) -> None:
        if limit is not None and prices is None:
            raise SetupError(
                "llm.max_cost needs prices",
                "set llm.price_per_million, such as {input = 0.1, output = 0.4}",
            )
        self._prices, self._limit = prices, limit
        self._others, self._own, self._calls, self._kept = before, 0.0, 0, 0.0

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._limit is not None

    @property
    def spent(self) -> float:
        """What the run has spent, as far as known here."""
        return self._others + self._own

    def add(self, usage: Usage) -> float | None:
        """Count a call, and return its price, or None without prices."""
        if self._prices is None:
            return None
        price = self._prices.price(usage)
        self._own += price
        self._calls += 1
        return price

    def note_kept(self, price: float | None) -> None:
        """Note that a response was written to the store together with its price."""
        self._kept += price or 0.0

    def refresh(self, in_store: float) -> None:
        """Learn what other processes of the run have spent.

        Args:
            in_store: what the store says that the run has spent, in all its processes.
        """
        self._others = max(self._others, in_store - self._kept)

    def may_start(self, flying: int) -> bool:
        """Tell whether another call may start while some whose price is unknown are in flight.

        Those are taken to cost what calls have cost on average so far.
        """
        if self._limit is None:
            return True
        average = self._own / self._calls if self._calls else 0.0
        return self.spent + average * flying < self._limit

    def error(self) -> CostLimitError:
        """Return the error that ends a run."""
        return CostLimitError(self.spent, self._limit or 0.0)
