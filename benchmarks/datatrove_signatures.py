"""DataTrove's own shingles and signatures at its defaults, for an interpreter that has DataTrove.

Reads a JSON list of texts from standard input; writes, for each, its bucket signatures (an empty
list for a text without a shingle). DataTrove needs other releases of what SABER needs, so it
lives in an environment of its own, and nothing of SABER is imported here.
"""

import json
import sys
import tempfile

from datatrove.pipeline.dedup.minhash import MinhashDedupSignature

step = MinhashDedupSignature(output_folder=tempfile.mkdtemp())
found = []
for text in json.load(sys.stdin):
    shingles = step.get_shingles(text)
    found.append(step.get_signature(shingles) if shingles.size else [])
json.dump(found, sys.stdout)
