"""Prompts: one file each, YAML front matter and a Jinja2 body, identified by what it says."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
import yaml

from saber_resources.errors import SetupError
from saber_resources.shipped import shipped

VERDICT = "verdict"
"""The `output` of a prompt whose reply ends with a verdict in a box instead of being JSON."""
TEXT = "text"
"""The `output` of a prompt whose reply is a text between tags, which keeps LaTeX out of JSON."""

_FRONT_MATTER = re.compile(r"\A---\r?\n(.*?)\r?\n---\r?\n(.*)\Z", re.DOTALL)
_SECTION = re.compile(r"^## (system|user)[ \t]*\r?$", re.MULTILINE)
_KEYS = ("name", "version", "output", "sampling")
_SAMPLING: Mapping[str, type | tuple[type, ...]] = {
    "temperature": (int, float),
    "top_p": (int, float),
    "max_tokens": int,
    "seed": int,
    "frequency_penalty": (int, float),
    "presence_penalty": (int, float),
    "reasoning_effort": str,
}
_JINJA = jinja2.Environment(
    undefined=jinja2.StrictUndefined,
    autoescape=False,  # noqa: S701 -- the output is plain text, never HTML
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=False,
)


@dataclass(frozen=True)
class Prompt:
    """A prompt as its file gives it.

    Attributes:
        name: as in the file.
        version: for people; what identifies a prompt is its fingerprint.
        text: the body, unrendered.
        schema: JSON schema of the reply, or None where the reply is a verdict or a text.
        sampling: temperature, max_tokens and the like, as the endpoint takes them.
        place: the file, for messages.
    """

    name: str
    version: str
    text: str
    schema: Mapping[str, Any] | None
    sampling: Mapping[str, Any]
    place: str = field(default="", compare=False)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of body, schema and sampling: changes whenever replies may."""
        content = json.dumps([self.text, self.schema, self.sampling], sort_keys=True)
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()

    @cached_property
    def _sections(self) -> tuple[tuple[str, jinja2.Template], ...]:
        """Roles with their templates: cut before rendering, so that texts can't add a role."""
        parts = _SECTION.split(self.text)
        if len(parts) < 3 or parts[0].strip():
            raise SetupError(
                f"{self.place}: the body must begin with '## system' or '## user'",
                "put its text below such headings",
            )
        if "user" not in parts[1::2]:
            raise SetupError(f"{self.place}: the body has no section '## user'", "add one")
        try:
            return tuple(
                (role, _JINJA.from_string(body.strip()))
                for role, body in zip(parts[1::2], parts[2::2], strict=True)
            )
        except jinja2.TemplateSyntaxError as error:
            raise SetupError(
                f"{self.place}: the body is not a valid template ({error.message})",
                "mend the braces",
            ) from error

    def render(self, **values: Any) -> list[dict[str, str]]:
        """Return the chat messages, each with `role` and `content`.

        Raises:
            SetupError: when the body uses a name that isn't among `values`.
        """
        try:
            return [
                {"role": role, "content": template.render(values).strip()}
                for role, template in self._sections
            ]
        except jinja2.UndefinedError as error:
            raise SetupError(
                f"{self.place}: the body uses a value that isn't given ({error.message})",
                f"use only {', '.join(sorted(values))}",
            ) from error


def load_prompt(name: str, folder: Path | None = None) -> Prompt:
    """Read `<name>.md`.

    Args:
        name: stem of the file, which must also be the `name` in it.
        folder: None for the prompts that ship with the project.

    Raises:
        SetupError: naming file and key, when the file is missing or faulty.
    """
    path = (folder or shipped("prompts")) / f"{name}.md"
    try:
        content = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"prompt file {path} can't be read ({error})", "check the path") from error
    match = _FRONT_MATTER.match(content)
    if match is None:
        raise SetupError(
            f"{path}: no front matter", "begin the file with a YAML block between two lines '---'"
        )
    header = _header(match[1], path)
    if header["name"] != name:
        raise SetupError(f"{path}: 'name' is {header['name']!r}", f"make it {name!r}")
    output = header["output"]
    prompt = Prompt(
        name=name,
        version=str(header["version"]),
        text=match[2].replace("\r\n", "\n").strip(),
        schema=None if output in (VERDICT, TEXT) else output,
        sampling=header["sampling"],
        place=str(path),
    )
    _ = prompt._sections
    return prompt


def _header(text: str, path: Path) -> dict[str, Any]:
    try:
        header = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SetupError(f"{path}: the front matter is not YAML ({error})", "mend it") from error
    if not isinstance(header, dict):
        raise SetupError(f"{path}: the front matter is no mapping", "write 'key: value' lines")
    for key in _KEYS:
        if key not in header:
            raise SetupError(f"{path}: the front matter lacks '{key}'", f"add '{key}: ...'")
    unknown = sorted(str(key) for key in header.keys() - set(_KEYS))
    if unknown:
        raise SetupError(f"{path}: unknown key '{unknown[0]}'", f"use only {', '.join(_KEYS)}")
    if header["output"] not in (VERDICT, TEXT) and not isinstance(header["output"], dict):
        raise SetupError(
            f"{path}: 'output' is no JSON schema", f"write one, or '{VERDICT}' or '{TEXT}'"
        )
    _check_sampling(header["sampling"], path)
    return header


def _check_sampling(sampling: Any, path: Path) -> None:
    if not isinstance(sampling, dict):
        raise SetupError(f"{path}: 'sampling' is no mapping", "write 'temperature: 0.0' below it")
    for key, value in sampling.items():
        expected = _SAMPLING.get(key)
        if expected is None:
            raise SetupError(
                f"{path}: unknown key 'sampling.{key}'", f"use only {', '.join(_SAMPLING)}"
            )
        if not isinstance(value, expected) or isinstance(value, bool):
            raise SetupError(f"{path}: 'sampling.{key}' has the value {value!r}", "mend it")
