"""Markdown: links that lead nowhere, and code that is no longer what the examples say."""

import os
import re
import textwrap

from tree import Problem

LINK = re.compile(r"!?\[[^\]\n]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|^\[[^\]\n]+\]:\s*(\S+)", re.MULTILINE)
SNIPPET = re.compile(r"^[ \t]*<!--\s*snippet:\s*(\S+?)#([\w-]+)\s*-->[ \t]*\n(?:[ \t]*\n)*", re.MULTILINE)
FENCE = re.compile(r"[ \t]*(`{3,})[^\n`]*\n(.*?)^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)


def _spaces(match):
    return re.sub(r"[^\n]", " ", match.group())


def _line(text, position):
    return text.count("\n", 0, position) + 1


def _anchors(text):
    """The anchors that GitHub makes of the headings."""
    found = set()
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*$", FENCE.sub(_spaces, text), re.MULTILINE):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def check_links(tree):
    for path in tree.select(".md"):
        text = FENCE.sub(_spaces, tree.text(path))
        text = re.sub(r"`[^`\n]*`", _spaces, text)
        for match in LINK.finditer(text):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            name, _, anchor = target.partition("#")
            file = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
            if file.startswith("..") or not (tree.root / file).exists():
                yield Problem(path, _line(text, match.start()), "broken-link", f"'{target}' leads nowhere")
            elif anchor and file.endswith(".md") and anchor not in _anchors(tree.text(file)):
                yield Problem(path, _line(text, match.start()), "broken-link", f"'{file}' has no heading '#{anchor}'")


def snippet(text, name):
    """The lines between the two marks `[name]`, without their common indentation; None when a mark is missing."""
    mark = re.compile(rf"^[ \t]*(?://|#)[ \t]*\[{re.escape(name)}\][ \t]*\n", re.MULTILINE)
    marks = list(mark.finditer(text))
    if len(marks) != 2:
        return None
    return textwrap.dedent(text[marks[0].end() : marks[1].start()])


def check_snippets(tree):
    for path in tree.select(".md"):
        text = tree.text(path)
        for match in SNIPPET.finditer(text):
            source, name = match.group(1), match.group(2)
            line = _line(text, match.start())
            block = FENCE.match(text, match.end())
            if not (tree.root / source).is_file():
                yield Problem(path, line, "snippet", f"'{source}' does not exist")
                continue
            wanted = snippet(tree.text(source), name)
            if wanted is None:
                yield Problem(path, line, "snippet", f"'{source}' needs exactly two marks '// [{name}]'")
            elif not block:
                yield Problem(path, line, "snippet", "no fenced code block follows")
            elif block.group(2) != wanted:
                yield Problem(path, line, "snippet", f"differs from {source}#{name}: copy the lines between its marks")


CONFIG = "apps/config.cpp"
GUIDE = "docs/guides/train.md"


def check_config_keys(tree):
    """Every key of the program's configuration is in its guide, and every key there exists."""
    if not (tree.root / CONFIG).is_file() or not (tree.root / GUIDE).is_file():
        return
    code, guide = tree.text(CONFIG), tree.text(GUIDE)
    known = set(re.findall(r'keys\.\w+\("([\w.]+)"', code)) | set(re.findall(r'\{"(data\.\w+)"', code))
    told = {}
    for row in re.finditer(r"^\| (`[^|]+) \|", guide, re.MULTILINE):
        for key in re.findall(r"`([a-z_]+(?:\.[a-z_]+)?)`", row.group(1)):
            told.setdefault(key, _line(guide, row.start()))
    for key in sorted(known - set(told)):
        yield Problem(GUIDE, 1, "config-key", f"does not tell of the key '{key}'")
    for key in sorted(set(told) - known):
        yield Problem(GUIDE, told[key], "config-key", f"there is no key '{key}'")


RULE = re.compile(r'PLANARIA_CONFORMANCE\(\s*"([^"]+)",\s*((?:"[^"]*"\s*)+)\)')
CONTRACT = "docs/supervision.md"


def check_conformance(tree):
    """Every rule that a conformance case holds is in the contract's table, in its words, and every rule there is held."""
    if not (tree.root / CONTRACT).is_file():
        return
    contract = tree.text(CONTRACT)
    told = {}
    begin = max(contract.find("## Rule by rule"), 0)
    for row in re.compile(r"^\| `([a-z0-9-]+)` \| (.+?) \|", re.MULTILINE).finditer(contract, begin):
        told[row.group(1)] = (row.group(2), _line(contract, row.start()))
    held = {}
    for path in tree.cpp(under=("tests/conformance",)):
        for case in RULE.finditer(tree.text(path)):
            name, words = case.group(1), "".join(re.findall(r'"([^"]*)"', case.group(2)))
            if name in held:
                yield Problem(path, _line(tree.text(path), case.start()), "conformance", f"a second case '{name}'")
            held[name] = words
            if name not in told:
                yield Problem(CONTRACT, 1, "conformance", f"does not tell of the rule '{name}'")
            elif told[name][0] != words:
                yield Problem(CONTRACT, told[name][1], "conformance", f"the case '{name}' says: {words}")
    for name in sorted(set(told) - set(held)):
        yield Problem(CONTRACT, told[name][1], "conformance", f"no case holds the rule '{name}'")
