"""What decides the vectors of an API, for the key under which they are kept."""

from __future__ import annotations

import hashlib
import json

from saber_assets.retrieval.systems import System

REVISION = 1
FIELDS = (
    "model",
    "served_model",
    "query_template",
    "document_template",
    "query_task",
    "document_task",
    "window",
    "normalise",
    "dimension",
)
API_FIELDS = ("window", "query_template", "document_template")
"""What a card must state so that an API can be asked."""


def contract_key(system: System) -> str:
    """Return a hash of a system's encoding contract at an API; no key of an account is in it."""
    values = {field: getattr(system, field) for field in FIELDS}
    content = json.dumps([REVISION, system.family, values], sort_keys=True)
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def alike(system: System) -> bool:
    """Tell whether an API is sent queries and documents in the same way: then one pays for both."""
    templates = [
        str(template).replace("{" + side + "}", "{}")
        for side, template in (
            ("query", system.query_template),
            ("document", system.document_template),
        )
    ]
    return templates[0] == templates[1] and system.query_task == system.document_task
