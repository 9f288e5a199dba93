"""DataTrove's own shingles and signatures at its defaults, for an interpreter that has DataTrove.

Reads a JSON list of texts from standard input; writes, for each, its bucket signatures (an empty
list for a text without a shingle), and the CPU and elapsed seconds that they took. DataTrove needs
other releases of what SABER needs, so it lives in an environment of its own (with spacy and
tokenizers), and nothing of SABER is imported here.
"""

import json
import sys
import tempfile
import time

from datatrove.pipeline.dedup.minhash import MinhashDedupSignature

step = MinhashDedupSignature(output_folder=tempfile.mkdtemp())
found = []
texts = json.load(sys.stdin)
step.get_shingles("loads what there is to load")
begin, begin_cpu = time.perf_counter(), time.process_time()
for text in texts:
    shingles = step.get_shingles(text)
    found.append(step.get_signature(shingles) if shingles.size else [])
took = time.process_time() - begin_cpu, time.perf_counter() - begin
json.dump({"signatures": found, "cpu": took[0], "elapsed": took[1]}, sys.stdout)
