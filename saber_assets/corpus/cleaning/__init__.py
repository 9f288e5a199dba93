"""Cleaning of statements and solutions: a documented list of small steps (docs/cleaning.md)."""

from saber_assets.corpus.cleaning.clean import (
    FLAGS,
    Change,
    Cleaned,
    clean_record,
    markup_to_text,
    trace,
)
from saber_assets.corpus.cleaning.steps import STEP_NAMES, STEPS, Step

__all__ = [
    "FLAGS",
    "STEPS",
    "STEP_NAMES",
    "Change",
    "Cleaned",
    "Step",
    "clean_record",
    "markup_to_text",
    "trace",
]
