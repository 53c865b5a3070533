"""Public headers are the manual: which of their declarations nobody explained."""

import re

import cpp
from tree import Problem


def check(tree):
    """Every public type and function of an installed header has a `///` comment.

    Needs none of its own: an override (its base says it); a constructor, destructor, operator or deleted function of a documented class; a `[[nodiscard]]`
    observer of one line without parameters; whatever stands directly (no blank line) below a documented sibling; a
    struct or enum whose members are documented.
    """
    for layer in tree.layers():
        for path in layer.headers:
            if path in tree.paths:
                yield from _check_header(tree, path)


def _check_header(tree, path):
    lines = tree.lines(path)
    if not any(line.strip() == "#pragma once" for line in lines):
        yield Problem(path, 1, "pragma-once", "start the header with #pragma once")
    scan = cpp.Scan(tree.text(path))
    explained = {}
    previous = {}  # owner → the declaration before
    for found in scan.declarations:
        before = previous.get(id(found.owner))
        previous[id(found.owner)] = found
        explained[id(found)] = (
            _has_comment(lines, found)
            or _follows(lines, before, found) and explained[id(before)]
            or found.kind == "type" and _members_explained(lines, scan, found)
        )
        if not found.public or found.kind not in ("type", "function") or explained[id(found)] or _needs_none(found):
            continue
        name = f"{found.owner.name}::{found.name}" if found.owner else found.name
        yield Problem(path, found.first, "undocumented", f"say above '{name}' what it is or does (///)", name)


def _has_comment(lines, found):
    above = lines[found.first - 2].strip() if found.first > 1 else ""
    own = lines[found.first - 1 : found.last]
    return above.startswith("///") or any("///<" in line for line in own)


def _follows(lines, before, found):
    """Whether `found` stands directly below its sibling: at most the sibling's own body in between."""
    if before is None or before.kind != found.kind:
        return False
    between = lines[before.last - 1 : found.first - 1]
    return all(line.strip() for line in between)


def _members_explained(lines, scan, found):
    keyword = found.text.split()[0]
    if keyword == "class":
        return False
    after = lines[found.first - 1 :]
    for line in after:
        if "///" in line:
            return True
        if line.startswith("}"):
            return False
    return False


def _needs_none(found):
    owner, name = found.owner, found.name.split("::")[-1]
    if found.kind == "type":
        return False
    if re.search(r"\)[^)]*\boverride\b", found.text):
        return True
    if name.startswith(("~", "operator")) or found.text.rstrip().endswith(("= delete", "= default")):
        return True
    if owner is None:
        return False
    if name == owner.name.split("::")[-1]:
        return True
    one_line = found.first == found.last
    return one_line and "[[nodiscard]]" in found.text and f"{name}()" in found.text.replace(" ", "")
