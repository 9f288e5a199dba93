"""Assets of the quality report: the funnel of each source, and what its texts are like."""

from __future__ import annotations

import dagster as dg

from saber_resources.settings import Settings


def quality_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets."""
    return []
