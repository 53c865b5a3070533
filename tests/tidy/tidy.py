#!/usr/bin/env python3
"""Checks the style that a compiler does not: run by ctest (label tidy), or by hand as tests/tidy/tidy.py.

Prints `file:line: rule: what to do` for each fault and exits with 1 when there is one. Exceptions, each with its reason,
stand in exceptions.txt; an exception that nothing needs any more is a fault too, so the list only shrinks.
"""

import argparse
import sys
from pathlib import Path

import banned
import boundaries
import budgets
import documentation
import documents
from tree import Problem, Tree

RULES = (
    banned.check_calls,
    banned.check_words,
    boundaries.check_dead_files,
    boundaries.check_includes,
    boundaries.check_protos,
    budgets.check_docs,
    budgets.check_names,
    budgets.check_sizes,
    documentation.check,
    documents.check_links,
    documents.check_snippets,
    documents.check_config_keys,
    documents.check_conformance,
)
EXCEPTIONS = "tests/tidy/exceptions.txt"


def read_exceptions(tree):
    """Returns ({(rule, path, subject): line}, problems). A line is `rule path [subject] # reason`."""
    known, problems = {}, []
    if EXCEPTIONS not in tree.paths:
        return known, problems
    for number, line in enumerate(tree.lines(EXCEPTIONS), 1):
        if not line.strip() or line.startswith("#"):
            continue
        entry, _, reason = line.partition(" # ")
        words = entry.split(None, 2)
        if len(words) < 2 or not reason.strip():
            problems.append(Problem(EXCEPTIONS, number, "exception", "write: rule path [subject] # reason"))
            continue
        known[(words[0], words[1], words[2].strip() if len(words) > 2 else "")] = number
    return known, problems


def check(tree):
    """Every problem of the tree that no exception covers, in order of place."""
    exceptions, problems = read_exceptions(tree)
    needed = set()
    for rule in RULES:
        for problem in rule(tree):
            keys = [(problem.rule, problem.path, problem.subject), (problem.rule, problem.path, "")]
            used = [key for key in keys if key in exceptions]
            needed.update(used)
            if not used:
                problems.append(problem)
    for key, number in exceptions.items():
        if key not in needed:
            text = f"nothing needs '{' '.join(key).strip()}' any more: remove the line"
            problems.append(Problem(EXCEPTIONS, number, "exception", text))
    return sorted(problems, key=lambda problem: (problem.path, problem.line, problem.rule))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parents[2], help="the repository")
    tree = Tree(parser.parse_args().root)
    problems = check(tree)
    for problem in problems:
        print(problem)
    exceptions = len(read_exceptions(tree)[0])
    print(f"tidy: {len(problems)} faults in {len(tree.paths)} files, {exceptions} exceptions")
    print(budgets.summary(tree))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
