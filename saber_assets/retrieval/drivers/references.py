"""What the parity gate compares bi-encoders with: each returns a reference, or why there is none.

A driver hands one of them to `DenseRetriever(..., reference=partial(authors, system, around))`.
They load models, and are called by the gate only.
"""

from __future__ import annotations

from pathlib import Path

from saber_assets.retrieval.drivers.driver import EXTRA, Surroundings
from saber_assets.retrieval.encoding.contract import Contract
from saber_assets.retrieval.encoding.gate import BlockedError
from saber_assets.retrieval.encoding.parity import TwoSided
from saber_assets.retrieval.systems import System


def authors(system: System, around: Surroundings) -> TwoSided | str:
    """Return the authors' own configuration: `encode` of sentence-transformers, by its folder."""
    if not around.machine.installed("sentence_transformers"):
        return f"sentence-transformers isn't installed ({EXTRA})"
    from saber_assets.retrieval.encoding import sentence_transformers_encoder as library

    folder = around.weights_of(system)
    if folder is None:
        return "its weights aren't on this machine"
    if not (folder / library.MODULES).is_file():
        return f"its folder has no {library.MODULES}, which states how its authors run it"
    model = library.load_model(
        folder,
        system.precision or "float32",
        trust_remote_code=system.trust_remote_code and system.accepted_code,
        adapter=system.document_task,
    )
    return own_encode(model, system)


def own_encode(model: object, system: System) -> TwoSided:
    """Return `encode` of a loaded SentenceTransformer, with the model's own prompts.

    An instruction among them is left out where the card has a place for it and leaves it empty, as
    the published runs do.
    """
    from saber_assets.retrieval.encoding import sentence_transformers_encoder as library

    asked, offered = library.own_prompts(model)
    if system.query_template == "{query}":
        asked = library.without_instruction(asked, system.instruction_slot)
    return library.OwnEncode(model, asked, offered)


def transformers(system: System, around: Surroundings) -> TwoSided | str:
    """Return the model here under the card's contract, for what an endpoint serves.

    Where the folder has modules of sentence-transformers, such as a dense layer behind the
    pooling, they take part.

    Raises:
        BlockedError: when the card states another pooling than the modules.
    """
    absent = [name for name in ("torch", "transformers") if not around.machine.installed(name)]
    if absent:
        return f"{' and '.join(absent)} aren't installed ({EXTRA})"
    folder = around.weights_of(system)
    if folder is None:
        return "its weights aren't on this machine, only behind the endpoint"
    stated = system.contract()
    if stated is None:
        return "its card doesn't state how it must be fed"
    if system.trust_remote_code and not system.accepted_code:
        return "its own code would be run: accepted_code = true in systems.toml"
    from saber_assets.retrieval.encoding import sentence_transformers_encoder as library

    if (folder / library.MODULES).is_file() and around.machine.installed("sentence_transformers"):
        return _by_modules(system, stated, folder)
    from saber_assets.retrieval.encoding.transformers_encoder import TransformersEncoder

    return TransformersEncoder.load(str(folder), stated, trust_remote_code=system.trust_remote_code)


def _by_modules(system: System, stated: Contract, folder: Path) -> TwoSided:
    from saber_assets.retrieval.encoding import sentence_transformers_encoder as library

    model = library.load_model(
        folder,
        stated.precision,
        trust_remote_code=system.trust_remote_code,
        adapter=system.document_task,
    )
    own = library.pooling_of(model)
    if own not in (None, stated.pooling):
        raise BlockedError(
            f"{system.name} is blocked: its card says that it pools by '{stated.pooling}', its "
            f"modules by '{own}'",
            "mend pooling in systems.toml",
        )
    return library.SentenceTransformersEncoder(model, stated)
