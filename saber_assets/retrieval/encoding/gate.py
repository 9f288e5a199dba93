"""The parity gate in front of a row: what it is compared with, and what came of it.

A retriever takes part by two methods; see `Gated`. What embeds may have a method `fits(text, side)`
that tells whether it reads a text whole: backends that cut long texts in different ways are
compared on texts that both read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import InputError
from saber_assets.retrieval.encoding.contract import Side
from saber_assets.retrieval.encoding.parity import LEAST, TwoSided, check_parity, fixed_sample
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.reasons import mend_of, reason_of

PARITY_KEY = "saber/parity"
"""Under which the outcome is kept with the scores of a retriever."""
PLACE = "place"
"""Key of where the backend was that was compared, see `Entry.place`."""
UNCHECKED = "not_checked"
"""Key of the reason, in an outcome without numbers."""
SHORTEST = 16
"""Characters below which a text isn't cut any more."""

Outcome = Mapping[str, Any]
"""`spearman`, `worst`, `queries` and `documents`; or `not_checked`: why."""


@runtime_checkable
class Gated(Protocol):
    """A retriever whose vectors can be compared with those of a reference."""

    def serving(self) -> TwoSided:
        """Return what makes the vectors."""
        ...

    def reference(self) -> TwoSided | str | None:
        """Return the reference, or why it isn't here, or None where there is nothing to compare."""
        ...


class BlockedError(InputError):
    """A row must not be scored: its backend isn't the model that it should be."""


def pass_gate(
    name: str,
    retriever: Retriever,
    queries: Sequence[str],
    documents: Sequence[str],
    *,
    required: bool = False,
) -> Outcome | None:
    """Compare a retriever's backend with its reference on a fixed sample.

    Args:
        name: the row's.
        retriever: takes part where it is `Gated`.
        queries: texts of the benchmark's queries.
        documents: texts of its documents.
        required: whether a row is blocked that has a reference which isn't here.

    Returns:
        What came of it; None for a retriever that has nothing to be compared with.

    Raises:
        BlockedError: when the backends disagree, when that of the row fails, or, if `required`,
            when they can't be compared.
    """
    if not isinstance(retriever, Gated):
        return None
    reference = _reference(retriever)
    if reference is None:
        return None
    if not isinstance(reference, str):
        try:
            return _compared(name, retriever.serving(), _Reference(reference), queries, documents)
        except _ReferenceError as error:
            reference = str(error)
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            raise BlockedError(
                f"{name} is blocked, since its backend fails on a sample, {reason_of(error)}",
                mend_of(error),
            ) from error
    if required:
        raise BlockedError(
            f"{name} is blocked, since its backend can't be compared with a reference "
            f"({reference.rstrip('.')})",
            'mend that, or set retrieval.parity = "where_possible"',
        )
    return {UNCHECKED: reference}


def told(outcome: Outcome | None) -> str:
    """Return an outcome in one phrase."""
    if outcome is None:
        return "nothing to compare with"
    if UNCHECKED in outcome:
        return f"not checked: {outcome[UNCHECKED]}"
    return (
        f"Spearman {outcome['spearman']:.4f} with the reference, at the worst "
        f"{outcome['worst']:.4f}, on {outcome['queries']} queries and "
        f"{outcome['documents']} documents"
    )


def passed(outcome: Outcome | None) -> bool:
    """Tell whether an outcome that was kept says that the backends agreed."""
    return outcome is not None and float(outcome.get("spearman", 0.0)) >= LEAST


def _reference(retriever: Gated) -> TwoSided | str | None:
    try:
        return retriever.reference()
    except BlockedError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  (it loads models and their code)
        return f"the reference can't be made, {reason_of(error)}"


class _ReferenceError(Exception):
    """The reference fails, which is no fault of the row's."""


class _Reference:
    """A reference whose faults are told from those of the row's own backend."""

    def __init__(self, reference: TwoSided) -> None:
        self._reference = reference

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._reference, name)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._made(self._reference.encode, texts)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._made(self._reference.encode_queries, texts)

    @staticmethod
    def _made(
        encode: Callable[[Sequence[str]], NDArray[np.float32]], texts: Sequence[str]
    ) -> NDArray[np.float32]:
        try:
            return encode(texts)
        except BlockedError:
            raise
        except (Exception, SystemExit) as error:
            raise _ReferenceError(f"the reference fails, {reason_of(error)}") from error


def _compared(
    name: str,
    serving: TwoSided,
    reference: TwoSided,
    queries: Sequence[str],
    documents: Sequence[str],
) -> Outcome:
    asked, offered = fixed_sample(queries, documents)
    both = [fits for side in (serving, reference) if (fits := getattr(side, "fits", None))]
    asked = _shortened(asked, "query", both)
    offered = _shortened(offered, "document", both)
    if not asked or len(offered) < 2:
        return {UNCHECKED: f"{len(asked)} queries and {len(offered)} documents are no sample"}
    found = check_parity(name, serving, reference, asked, offered)
    if found.fault:
        raise BlockedError(
            found.fault.rstrip("."), "mend its card or its backend; nothing was scored"
        )
    return {
        "spearman": found.spearman,
        "worst": found.worst,
        "queries": len(asked),
        "documents": len(offered),
    }


def _shortened(
    texts: Sequence[str], side: Side, fits: Sequence[Callable[[str, Side], bool]]
) -> list[str]:
    """Return texts of which as much is left, by halves, as all can read whole."""
    made = []
    for text in texts:
        shorter = text
        while len(shorter) > SHORTEST and not all(fit(shorter, side) for fit in fits):
            shorter = shorter[: len(shorter) // 2]
        made.append(shorter)
    return list(dict.fromkeys(made))
