"""The table of the ontology stage."""

from __future__ import annotations

import polars as pl

from saber_assets.table import Column, Rule, Table

DOMAINS = ("Algebra", "Geometry", "Number Theory", "Combinatorics", "Calculus and Analysis")

ONTOLOGY_TREE = Table(
    name="ontology_tree",
    description="The topic DAG unfolded: one node for each path from the root.",
    columns={
        "node_id": Column(pl.Int32, "preorder number; the root is 0, parents come first"),
        "parent_id": Column(pl.Int32, "node_id of the parent; -1 for the root"),
        "topic": Column(pl.String, "id of the topic in the DAG; several nodes may share it"),
        "label": Column(pl.String, "name of the topic as people write it"),
        "path": Column(pl.String, "topic ids from the root down, each after a slash"),
        "depth": Column(pl.Int32, "edges from the root"),
        "domain": Column(pl.String, "domain of the first-level ancestor, or null", nullable=True),
        "aliases": Column(pl.List(pl.String), "surface forms of the topic in texts"),
    },
    key=("node_id",),
    rules=(
        Rule("parents first", "parent_id < node_id", pl.col("parent_id") < pl.col("node_id")),
        Rule("known domain", "one of the five", pl.col("domain").is_in(list(DOMAINS))),
    ),
)
