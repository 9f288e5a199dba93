"""Asset checks of the ontology stage."""

from __future__ import annotations

import dagster as dg
import polars as pl

from saber_assets.checks import Verdict, contract, table_check
from saber_assets.ontology.tables import DOMAINS, ONTOLOGY_TREE
from saber_resources.settings import Settings


def checks(settings: Settings) -> list[dg.AssetChecksDefinition]:
    """Return the checks of this stage."""
    return [
        contract(settings, ONTOLOGY_TREE),
        table_check(
            settings,
            ONTOLOGY_TREE.name,
            "domains_covered",
            "Each of the five domains has topics.",
            _domains_covered,
        ),
    ]


def _domains_covered(tree: pl.DataFrame) -> Verdict:
    present = set(tree["domain"].drop_nulls().unique())
    missing = [domain for domain in DOMAINS if domain not in present]
    return not missing, {"missing": ", ".join(missing) or "none"}
