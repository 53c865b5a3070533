"""Calls and words that do not belong where they stand."""

import re

import cpp
from tree import Problem

LIBRARIES = ("storage/", "runtime/", "actors/")
SLEEP = re.compile(r"\b(?:sleep_for|sleep_until|usleep|nanosleep|sleep)\s*\(")
PRINT = re.compile(r"\b(?:v?f?printf|v?sprintf|f?puts|putchar)\s*\(|\bstd::(?:cout|cerr|clog)\b")
CATCH_ALL = re.compile(r"\bcatch\s*\(\s*\.\.\.\s*\)")
# Put together here, so that this file does not hold what it looks for.
MARK = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|TB" r"D)\b")
HOST = re.compile(r"\b(?:deb|ftp|security|snapshot|registry|pypi|files|static|proxy|repo1?)\.[\w-]+\.(?:org|com|io|net)\b")
WORKPLACE = re.compile(r"(?<![\w.])/wo" r"rk/")


def _matches(pattern, code):
    for match in pattern.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, match.group()


def check_calls(tree):
    for path in tree.cpp():
        code = cpp.blank(tree.text(path))
        if path.startswith("tests/"):
            for line, call in _matches(SLEEP, code):
                yield Problem(path, line, "sleep", f"'{call}' in a test: wait for a message or an event, with a deadline")
        if path.startswith(LIBRARIES):
            for line, call in _matches(PRINT, code):
                yield Problem(path, line, "print", f"'{call}' in a library: log through spdlog, throw or return it")
        if not path.startswith("tests/"):
            for line, _ in _matches(CATCH_ALL, code):
                yield Problem(path, line, "catch-all", "'catch (...)' swallows: catch what you can handle, by type")


def check_words(tree):
    for path in tree.paths:
        if path.startswith("LICENSE"):
            continue
        text = tree.text(path)
        for line, word in _matches(MARK, text):
            yield Problem(path, line, "mark", f"'{word}': do it now, or file an issue and remove the mark")
        for line, word in _matches(WORKPLACE, text):
            yield Problem(path, line, "workplace", f"'{word}' is a folder of one machine: use a relative path")
        for line, word in _matches(HOST, text):
            yield Problem(path, line, "workplace", f"'{word}' is a registry's host: name the package instead")
