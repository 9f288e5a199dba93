"""The code location: wiring of all stages, nothing else."""

from __future__ import annotations

import logging
import warnings

import dagster as dg
from dagster import colored_console_logger

from saber_assets.annotation import assets as annotation
from saber_assets.annotation import checks as annotation_checks
from saber_assets.automation import (
    board_sensor,
    re_evaluation,
    retriever_sensor,
    source_sensor,
)
from saber_assets.candidates import assets as candidates
from saber_assets.candidates import checks as candidates_checks
from saber_assets.corpus import assets as corpus
from saber_assets.corpus import checks as corpus_checks
from saber_assets.evaluation import assets as evaluation
from saber_assets.evaluation import checks as evaluation_checks
from saber_assets.executors import executor_of
from saber_assets.ontology import assets as ontology
from saber_assets.ontology import checks as ontology_checks
from saber_assets.publishing import assets as publishing
from saber_assets.publishing import checks as publishing_checks
from saber_assets.retrieval import assets as retrieval
from saber_assets.retrieval import checks as retrieval_checks
from saber_assets.sources import source_specs
from saber_assets.tournament import assets as tournament
from saber_assets.tournament import checks as tournament_checks
from saber_resources.settings import Settings, load_settings, workdir_from_environment
from saber_resources.warehouse import ParquetTables

ASSETS = (corpus, ontology, annotation, candidates, tournament, retrieval, evaluation)
CHECKS = (
    corpus_checks,
    ontology_checks,
    annotation_checks,
    candidates_checks,
    tournament_checks,
    retrieval_checks,
    evaluation_checks,
)
IMPORTED_ASSETS = (publishing, retrieval, evaluation)
IMPORTED_CHECKS = (publishing_checks, retrieval_checks, evaluation_checks)


@dg.logger(
    config_schema={
        "log_level": dg.Field(str, default_value="INFO"),
        "name": dg.Field(str, default_value="dagster"),
    }
)
def console(context: dg.InitLoggerContext) -> logging.Logger:
    """Tell a terminal what runs have to say, without Dagster's account of each of its steps."""
    made: logging.Logger = colored_console_logger.logger_fn(context)
    return made


def build_definitions(settings: Settings) -> dg.Definitions:
    """Return the asset graph of a workdir, configured by its profile.

    Where a released benchmark is imported, it stands in for all stages before retrieval.
    """
    built = settings.profile.imported.folder is None
    stages, checks = (ASSETS, CHECKS) if built else (IMPORTED_ASSETS, IMPORTED_CHECKS)
    outside = source_specs(settings) if built else []
    place = settings.workdir
    tables = ParquetTables(base_dir=str(place.tables), lock_root=str(place.root))
    return dg.Definitions(
        assets=[*outside, *(made for stage in stages for made in stage.assets(settings))],
        asset_checks=[check for stage in checks for check in stage.checks(settings)],
        resources={"tables": tables},
        executor=executor_of(settings),
        sensors=[
            *([source_sensor(settings)] if built else []),
            retriever_sensor(settings),
            board_sensor(settings),
        ],
        schedules=[re_evaluation(settings)],
        loggers={"console": console},
    )


@dg.definitions
def defs() -> dg.Definitions:
    """Load the workdir that SABER_WORKDIR names; without one, the sample in ./saber_work."""
    warnings.filterwarnings("ignore", message=".*currently in (beta|preview)")
    return build_definitions(load_settings(workdir_from_environment()))
