"""Sizes and names: what fails, and how far the tree is from what it aims at."""

import re
from pathlib import PurePosixPath

import cpp
from tree import LAYERS, Problem

# What fails past which number of lines, and what is aimed at.
HEADER, SOURCE, FUNCTION = (300, 150), (600, 400), (70, 40)
VAGUE = {"util", "utils", "utility", "utilities", "common", "helper", "helpers", "misc", "manager", "stuff"}
WORDS = {"README.md": 500, "docs/architecture.md": 2000}


def _budget(path):
    return HEADER if path.endswith(".hpp") else SOURCE


def sized(tree):
    """Yields (path, lines) of every file that has a budget."""
    for path in tree.select(".hpp", ".cpp", ".py", ".sh", ".cmake", "CMakeLists.txt"):
        yield path, len(tree.text(path).splitlines())


def functions(tree):
    """Yields (path, name, Function) of every C++ function body."""
    for path in tree.cpp():
        lines = tree.lines(path)
        for found in cpp.Scan(tree.text(path)).functions:
            name = found.name
            case = re.search(r'"([^"]*)"', lines[found.first - 1])
            if name.isupper() and case:
                name = case.group(1)  # a doctest case
            yield path, name, found


def check_sizes(tree):
    for path, lines in sized(tree):
        limit = _budget(path)[0]
        if lines > limit:
            yield Problem(path, limit, "file-size", f"{lines} lines, the limit is {limit}: split it by idea")
    for path, name, found in functions(tree):
        if found.lines > FUNCTION[0]:
            text = f"'{name}' has {found.lines} lines, the limit is {FUNCTION[0]}: name its parts"
            yield Problem(path, found.first, "function-size", text, name)


def check_names(tree):
    for path in tree.paths:
        pure = PurePosixPath(path)
        for part in (*pure.parts[:-1], pure.stem):
            if VAGUE & set(re.split(r"[_\-.]", part.lower())):
                yield Problem(path, 1, "vague-name", f"'{part}' says nothing: name the idea that the file holds")


def check_docs(tree):
    for path, limit in WORDS.items():
        if path in tree.paths:
            words = len(re.sub(r"```.*?```|<!--.*?-->", " ", tree.text(path), flags=re.DOTALL).split())
            if words > limit:
                yield Problem(path, 1, "doc-size", f"{words} words outside code, the limit is {limit}")
    for layer in LAYERS:
        path = f"{layer}/README.md"
        if any(name.startswith(f"{layer}/") for name in tree.paths):
            if path not in tree.paths:
                yield Problem(path, 1, "layer-readme", "a layer opens with a README of at most 20 lines: file → idea")
            elif len(tree.text(path).splitlines()) > 20:
                yield Problem(path, 21, "layer-readme", "more than 20 lines: say only which file holds which idea")


def summary(tree):
    """One line: how much of the tree is within what is aimed at, and the longest of each kind."""
    sizes = list(sized(tree))
    headers = [(n, path) for path, n in sizes if path.endswith(".hpp")]
    sources = [(n, path) for path, n in sizes if path.endswith(".cpp")]
    bodies = [(found.lines, f"{path}:{found.first} {name}") for path, name, found in functions(tree)]
    parts = []
    for kind, found, aim in (("headers", headers, HEADER[1]), ("sources", sources, SOURCE[1]), ("functions", bodies, FUNCTION[1])):
        if found:
            within = sum(n <= aim for n, _ in found)
            longest = max(found)
            share = 100 * within // len(found)
            parts.append(f"  {kind}: {share} % of {len(found)} within {aim} lines; longest {longest[0]} ({longest[1]})")
    return "\n".join(parts)
