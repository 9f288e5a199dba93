"""Reads one collection: its documents one after the other, each problem once.

A problem that several documents include is given once, with the document that reaches the most
files. Solutions that name a problem of another document are found beforehand, so that documents
needn't be held.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from saber_assets.corpus.source_kinds.latex_declarations import Declared, declarations
from saber_assets.corpus.source_kinds.latex_documents import (
    Diagnostic,
    Flat,
    Flattener,
    includes,
    start_files,
)
from saber_assets.corpus.source_kinds.latex_environments import Node, Scan
from saber_assets.corpus.source_kinds.latex_files import OutsideError, Tree, inner_name
from saber_assets.corpus.source_kinds.latex_pairs import Paired, Pairing
from saber_assets.corpus.source_kinds.latex_roles import Roles
from saber_assets.corpus.source_kinds.protocol import SourceRecord

_MAY_REFER = re.compile(r"(?i)(?:sol|ans|proof|corr|l(?:ö|oe)s|beweis)[^\n]{0,200}ref")
_PACKAGE = re.compile(
    r"\\(?:usepackage|RequirePackage|documentclass|LoadClass)[ \t]{0,9}"
    r"(?:\[[^\[\]]{0,500}\])?[ \t]{0,9}\{([^{}\\]{1,300})\}"
)
_BABEL = re.compile(r"\\usepackage\[([^\[\]]{1,200})\]\{babel\}|\\setmainlanguage\{([a-z]{1,30})\}")
_LANGUAGES = {
    "english": "en", "american": "en", "british": "en", "UKenglish": "en", "USenglish": "en",
    "german": "de", "ngerman": "de", "naustrian": "de", "french": "fr", "francais": "fr",
    "spanish": "es", "italian": "it", "portuguese": "pt", "brazil": "pt", "brazilian": "pt",
    "dutch": "nl", "polish": "pl", "czech": "cs", "slovak": "sk", "russian": "ru",
    "ukrainian": "uk", "romanian": "ro", "hungarian": "hu", "bulgarian": "bg", "croatian": "hr",
    "serbian": "sr", "slovene": "sl", "turkish": "tr", "greek": "el", "swedish": "sv",
    "danish": "da", "norsk": "no", "finnish": "fi", "catalan": "ca", "vietnamese": "vi",
}  # fmt: skip
_ORIGINS = ("origin", "source", "contest")
_MOST_PACKAGES = 60


@dataclass(slots=True)
class _Document:
    """One document, scanned and paired."""

    root: str
    flat: Flat
    pairing: Pairing
    faults: dict[int, str]
    language: str | None


@dataclass(slots=True)
class _Referring:
    """A solution that names a problem of another document."""

    refs: tuple[str, ...]
    record: SourceRecord
    answer: bool
    claimed: bool = False


@dataclass(slots=True)
class _Shared:
    """What the files of a collection declare, for documents that lean on others."""

    environments: dict[str, Declared] = field(default_factory=dict)
    shorthands: dict[str, tuple[str, str]] = field(default_factory=dict)
    disputed: set[str] = field(default_factory=set)

    def add(self, environments: Mapping[str, Declared]) -> None:
        """Add declarations; what two files declare differently belongs to neither."""
        for name, declared in environments.items():
            other = self.environments.setdefault(name, declared)
            if other.title != declared.title:
                self.disputed.add(name)

    def agreed(self) -> dict[str, Declared]:
        """Return the declarations that no two files dispute."""
        return {n: d for n, d in self.environments.items() if n not in self.disputed}


class Collection:
    """One folder, file or archive.

    Args:
        tree: its files.
        chosen: role -> names of environments, as the option `environments` says.
        ids: source ids that are taken, with how often; grows.
    """

    def __init__(
        self, tree: Tree, chosen: Mapping[str, Sequence[str]], ids: dict[str, int]
    ) -> None:
        self._tree = tree
        self._chosen = chosen
        self._ids = ids
        self._flattener = Flattener(tree)
        self._shared = _Shared()
        self._packages: dict[str, dict[str, Declared]] = {}
        self._seen: set[tuple[str, int]] = set()
        self._ordinals: dict[tuple[str, str], int] = {}
        self._referring: dict[tuple[str, int], _Referring] = {}
        self._by_ref: dict[str, list[_Referring]] = {}
        self._told: set[Diagnostic] = set()
        self._diagnostics: list[Diagnostic] = []

    def take_diagnostics(self) -> list[Diagnostic]:
        """Return what was found since the last call."""
        found, self._diagnostics = self._diagnostics, []
        return found

    def records(self) -> Iterator[SourceRecord]:
        """Yield the problems, orphaned solutions and lost files of the collection."""
        for name, what in self._tree.unread:
            lost = Diagnostic(name, f"{name} can't be read: {what}", True)
            self._diagnostics.append(lost)
            yield self._lost(lost)
        roots, referring = self._overview()
        if len(roots) > 1:
            for root in roots:
                if root in referring:
                    self._collect_referring(self._document(root))
        for root in roots:
            yield from self._of_document(self._document(root))
        for waiting in self._referring.values():
            if not waiting.claimed:
                yield self._named(waiting.record)

    def _overview(self) -> tuple[list[str], set[str]]:
        """Return the start files, and those of them whose solutions may name other problems."""
        graph: dict[str, list[str]] = {}
        mentions: set[str] = set()
        names = self._tree.names()
        for name in names:
            graph[name] = []
            try:
                clean = self._flattener.clean(name)[0]
            except ValueError:
                continue  # told when its document is read
            for match in includes(clean):
                try:
                    target = self._flattener.resolve(match, name, name)
                except OutsideError:
                    continue
                if target is not None and target != name:
                    graph[name].append(target)
            if len(names) > 1:
                found = declarations(clean.text, clean.verbatim)
                self._shared.add(found.environments)
                self._shared.shorthands.update(found.shorthands)
                if _MAY_REFER.search(clean.text):
                    mentions.add(name)
        roots = [name for name in start_files(graph) if name in graph]
        return roots, mentions if mentions.isdisjoint(graph) else self._above(
            graph, mentions, roots
        )

    @staticmethod
    def _above(graph: Mapping[str, list[str]], mentions: set[str], roots: list[str]) -> set[str]:
        """Return the start files that reach one of the files."""
        parents: dict[str, list[str]] = {}
        for name, targets in graph.items():
            for target in targets:
                parents.setdefault(target, []).append(name)
        found = set(mentions)
        waiting = list(mentions)
        while waiting:
            for name in parents.get(waiting.pop(), ()):
                if name not in found:
                    found.add(name)
                    waiting.append(name)
        return found & set(roots)

    def _document(self, root: str) -> _Document:
        flat = self._flattener.flatten(root)
        found = declarations(flat.text, flat.verbatim)
        preamble = flat.text[: flat.body or 20_000]
        declared = self._shared.agreed()
        declared.update(self._of_packages(preamble, root))
        declared.update(found.environments)
        roles = Roles(declared, self._chosen)
        shorthands = {
            word: edge
            for word, edge in {**self._shared.shorthands, **found.shorthands}.items()
            if roles.of(edge[1])
        }
        scan = Scan(flat.text, flat.body, roles, found, flat.verbatim, shorthands, flat.file_end)
        pairing = Pairing(flat.text, scan.top, roles)
        self._tell(root, flat, scan)
        return _Document(root, flat, pairing, dict(scan.faults), _language(preamble))

    def _tell(self, root: str, flat: Flat, scan: Scan) -> None:
        prefix = self._tree.prefix
        found = [Diagnostic(prefix + d.location, d.what, d.lost) for d in flat.diagnostics]
        for offset, what in scan.faults:
            name, line = flat.line(offset)
            found.append(Diagnostic(f"{prefix}{name} line {line}", what, False))
        for name, what in flat.notes.items():
            found.append(Diagnostic(prefix + name, what, False))
        for diagnostic in found:
            if diagnostic not in self._told:
                self._told.add(diagnostic)
                self._diagnostics.append(diagnostic)

    def _of_packages(self, preamble: str, root: str) -> dict[str, Declared]:
        """Return what the packages and classes declare that lie in the collection itself."""
        found: dict[str, Declared] = {}
        waiting = [preamble]
        seen: set[str] = set()
        while waiting and len(seen) < _MOST_PACKAGES:
            text = waiting.pop()
            for match in _PACKAGE.finditer(text):
                for word in match[1].split(","):
                    name = self._package(word.strip(), posixpath.dirname(root))
                    if name is None or name in seen:
                        continue
                    seen.add(name)
                    try:
                        clean = self._flattener.clean(name)[0]
                    except ValueError:
                        continue
                    if name not in self._packages:
                        self._packages[name] = declarations(clean.text, clean.verbatim).environments
                    found.update(self._packages[name])
                    waiting.append(clean.text)
        return found

    def _package(self, word: str, folder: str) -> str | None:
        for place in dict.fromkeys((folder, "")):
            for suffix in (".sty", ".cls"):
                try:
                    name = inner_name(posixpath.join(place, word + suffix))
                    if self._tree.size(name) is not None:
                        return name
                except OutsideError:
                    continue
        return None

    def _collect_referring(self, document: _Document) -> None:
        for node in document.pairing.orphans:
            if not node.refs:
                continue
            place = document.flat.place(node.start)
            if place in self._referring:
                continue
            waiting = _Referring(node.refs, self._orphan(document, node), node.role == "answer")
            self._referring[place] = waiting
            for ref in node.refs:
                self._by_ref.setdefault(ref, []).append(waiting)

    def _of_document(self, document: _Document) -> Iterator[SourceRecord]:
        flat = document.flat
        for diagnostic in flat.diagnostics:
            key = (diagnostic.location + diagnostic.what, -1)
            if diagnostic.lost and key not in self._seen:
                self._seen.add(key)
                yield self._lost(diagnostic)
        found: list[tuple[int, Paired | Node]] = [
            (pair.problem.start, pair) for pair in document.pairing.pairs
        ]
        found += [(node.start, node) for node in document.pairing.orphans]
        for start, item in sorted(found, key=lambda entry: entry[0]):
            place = flat.place(start)
            if place in self._seen or (isinstance(item, Node) and place in self._referring):
                continue
            self._seen.add(place)
            if isinstance(item, Paired):
                yield self._named(self._problem(document, item))
            else:
                yield self._named(self._orphan(document, item))

    def _lost(self, diagnostic: Diagnostic) -> SourceRecord:
        location = self._tree.prefix + diagnostic.location
        record = SourceRecord(
            source_id=f"{location} (lost)",
            location=location,
            problem="",
            solutions=(),
            metadata={"reason": diagnostic.what},
            fault="unreadable",
        )
        return self._named(record)

    def _named(self, record: SourceRecord) -> SourceRecord:
        """Return the record with an id that no other has."""
        count = self._ids.get(record.source_id, 0) + 1
        self._ids[record.source_id] = count
        if count == 1:
            return record
        while (other := f"{record.source_id}~{count}") in self._ids:
            count += 1
        self._ids[record.source_id] = count
        self._ids[other] = 1
        return replace(record, source_id=other)

    def _orphan(self, document: _Document, node: Node) -> SourceRecord:
        text = document.flat.text[node.body : node.end].strip()
        metadata = self._metadata(document, [node], node)
        metadata["reason"] = "a solution without its problem"
        if node.refs:
            metadata["refers_to"] = ", ".join(node.refs)
        return SourceRecord(
            source_id=self._id(document, node, ""),
            location=self._location(document, node),
            problem="",
            solutions=(text,),
            language=document.language,
            metadata=metadata,
        )

    def _problem(self, document: _Document, pair: Paired) -> SourceRecord:
        node = pair.problem
        text = document.flat.text
        pieces = [piece.strip() for piece in document.pairing.pieces(node)]
        solutions = [text[s.body : s.end].strip() for s in pair.solutions]
        answers = [text[a.body : a.end].strip() for a in pair.answers]
        inner = [c for s in pair.solutions for c in s.children if c.role == "answer"]
        answers += [text[a.body : a.end].strip() for a in inner]
        metadata = self._metadata(document, [node, *pair.solutions, *pair.answers], node)
        if pair.parts:
            metadata["solution_parts"] = str(len(solutions))
            solutions = ["\n\n".join(solutions)]
        for waiting in self._from_elsewhere(pair):
            (answers if waiting.answer else solutions).extend(waiting.record.solutions)
            metadata["solution_at"] = waiting.record.location
        if pair.hints:
            metadata["hint"] = "\n\n".join(text[h.body : h.end].strip() for h in pair.hints)
        if pair.labels:
            metadata["label"] = pair.labels[0]
        origin = next((node.options[key] for key in _ORIGINS if key in node.options), "")
        return SourceRecord(
            source_id=self._id(document, node, pair.labels[0] if pair.labels else ""),
            location=self._location(document, node),
            problem="\n\n".join(piece for piece in pieces if piece),
            solutions=tuple(solutions or answers),
            answer=answers[0] if solutions and answers else None,
            language=document.language,
            origin=origin,
            metadata=metadata,
        )

    def _from_elsewhere(self, pair: Paired) -> Iterator[_Referring]:
        for label in pair.labels:
            for waiting in self._by_ref.get(label, ()):
                if not waiting.claimed:
                    waiting.claimed = True
                    yield waiting

    def _metadata(self, document: _Document, nodes: Sequence[Node], first: Node) -> dict[str, str]:
        metadata = {"environment": first.name}
        if first.title:
            metadata["title"] = first.title
        for key, value in first.options.items():
            if key not in ("title", "label", "name") and value:
                metadata.setdefault(key, value)
        faults = [document.faults[n.start] for n in nodes if n.start in document.faults]
        if faults:
            metadata["diagnostic"] = "; ".join(faults)
        note = document.flat.notes.get(document.flat.place(first.start)[0])
        if note:
            metadata["encoding"] = note
        return metadata

    def _location(self, document: _Document, node: Node) -> str:
        name, line = document.flat.line(node.start)
        return f"{self._tree.prefix}{name} line {line}"

    def _id(self, document: _Document, node: Node, label: str) -> str:
        name = document.flat.place(node.start)[0]
        stem = self._tree.prefix + posixpath.splitext(name)[0]
        number = self._ordinals[name, node.name] = self._ordinals.get((name, node.name), 0) + 1
        return f"{stem}#{label or f'{node.name}-{number}'}"


def _language(preamble: str) -> str | None:
    match = _BABEL.search(preamble)
    if match is None:
        return None
    words = [word.strip() for word in (match[1] or match[2]).split(",")]
    main = next((w.removeprefix("main=") for w in words if w.startswith("main=")), words[-1])
    return _LANGUAGES.get(main)
