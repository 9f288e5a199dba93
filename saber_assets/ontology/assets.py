"""Asset of the ontology stage: the topic DAG, unfolded."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import polars as pl

from saber_assets.materialize import declare, hand_over
from saber_assets.ontology.readers import read_ontology
from saber_assets.ontology.tables import ONTOLOGY_TREE
from saber_assets.ontology.tree import unfold
from saber_assets.plots import bars, shown
from saber_assets.sources import ONTOLOGY_FILE, ontology_file
from saber_resources.settings import Settings


def assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets of this stage, configured."""
    values = {"ontology": {"max_nodes": settings.profile.ontology.max_nodes}}

    @dg.multi_asset(
        name="unfold_ontology",
        outs=declare(
            [ONTOLOGY_TREE], group="ontology", version=1, values=values, kinds=("networkx",)
        ),
        deps=[ONTOLOGY_FILE],
    )
    def ontology_tree() -> Iterator[dg.Output[pl.DataFrame]]:
        dag = read_ontology(ontology_file(settings))
        tree = unfold(dag, max_nodes=settings.profile.ontology.max_nodes)
        depths = tree["depth"].value_counts().sort("depth")
        yield from hand_over(
            [(ONTOLOGY_TREE, tree)],
            values,
            {
                ONTOLOGY_TREE.name: {
                    "topics": tree["topic"].n_unique(),
                    "topics with several parents": int(
                        (tree["topic"].value_counts()["count"] > 1).sum()
                    ),
                    "nodes by depth": shown(
                        bars(
                            [f"depth {depth}" for depth in depths["depth"]],
                            depths["count"].to_list(),
                            "Tree nodes by depth",
                            "nodes",
                        )
                    ),
                }
            },
        )

    return [ontology_tree]
