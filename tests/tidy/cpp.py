"""Reads C++ just well enough for the checks: text without comments and strings, functions, declarations.

No compiler: a scanner over braces. It knows namespaces, classes, enums, functions, initialisers and access labels.
"""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""//[^\n]*
      | /\*.*?\*/
      | R"(?P<mark>[^()\s"\\]{0,16})\(.*?\)(?P=mark)"
      | "(?:\\.|[^"\\\n])*"
      | (?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'
    """,
    re.VERBOSE | re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.MULTILINE)


def _spaces(text):
    return re.sub(r"[^\n]", " ", text)


def blank(text, keep_strings=False):
    """Returns the text, as long and with as many lines, with comments (and strings' insides) blanked."""

    def replace(match):
        token = match.group()
        if token[:2] in ("//", "/*"):
            return _spaces(token)
        if keep_strings:
            return token
        return token[0] + _spaces(token[1:-1]) + token[-1]

    return TOKEN.sub(replace, text)


def comments(text):
    """Yields (line, text) of every comment."""
    for match in TOKEN.finditer(text):
        if match.group()[:2] in ("//", "/*"):
            line = text.count("\n", 0, match.start()) + 1
            for offset, part in enumerate(match.group().split("\n")):
                yield line + offset, part


def includes(text):
    """Yields (line, path) of every #include."""
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', text, re.MULTILINE):
        yield text.count("\n", 0, match.start(1)) + 1, match.group(1)


@dataclass
class Declaration:
    """One declaration in a namespace or a class; `last` is the line where its head or its ';' ends."""

    kind: str  # type, function, alias or variable
    name: str
    text: str
    first: int
    last: int
    public: bool
    owner: object = None  # the Declaration of the class around it
    members: list = field(default_factory=list)


@dataclass
class Function:
    name: str
    first: int
    last: int = 0

    @property
    def lines(self):
        return self.last - self.first + 1


@dataclass
class _Scope:
    kind: str  # namespace, class, enum, function or other
    public: bool = True
    declaration: object = None
    function: object = None
    # The statement so far, where it began and how many of its parentheses are open.
    head: str = ""
    start: int = 0
    parens: int = 0

    def clear(self):
        self.head, self.start, self.parens = "", 0, 0


def _bare(head):
    """A declaration without attributes and without its template's head."""
    head = re.sub(r"\[\[.*?\]\]|\balignas\s*\([^()]*\)", " ", head).strip()
    while head.startswith("template"):
        depth, end = 0, len(head)
        for i, character in enumerate(head):
            depth += (character == "<") - (character == ">")
            if character == ">" and depth == 0:
                end = i + 1
                break
        head = head[end:].strip()
    return head


def _no_arguments(head):
    """Without template arguments, whose parentheses say nothing about the declaration itself."""
    head = head.replace("->", "  ")
    while True:
        shorter = re.sub(r"<[^<>]*>", "", head)
        if shorter == head:
            return head
        head = shorter


def _name(bare):
    kind = re.match(r"(?:typedef\s+)?(?:enum\s+(?:class|struct)|enum|class|struct|union)\s+([\w:]+)", bare)
    if kind:
        return kind.group(1)
    operator = re.search(r"\boperator\b\s*(?:\(\)|[^(]+)", bare)
    if operator:
        return operator.group().strip()
    call = re.search(r"([~\w:]+)\s*\(", _no_arguments(bare))
    if call:
        return call.group(1)
    words = re.findall(r"\w+", re.split(r"[={]", _no_arguments(bare))[0])
    return words[-1] if words else ""


def _is_function(bare):
    if re.search(r"\boperator\b", bare):
        return True
    return "(" in re.split(r"(?<![=!<>])=(?!=)", _no_arguments(bare))[0]


def _classify(head):
    """What a '{' behind this head opens."""
    bare = _bare(head)
    if re.match(r"(?:inline\s+)?namespace\b", bare) or re.match(r'extern\s*"', bare):
        return "namespace"
    if re.match(r"(?:typedef\s+)?enum\b", bare):
        return "enum"
    if re.match(r"(?:typedef\s+)?(?:class|struct|union)\b", bare):
        if not re.search(r"[(=]", re.split(r"(?<!:):(?!:)", bare)[0]):
            return "class"
    flat = _no_arguments(bare)
    if re.search(r"\).*(?<!:):(?!:)", flat, re.DOTALL) and re.search(r"(?:(?<!:):(?!:)|,)\s*[\w:]+\s*$", flat):
        return "other"  # braces of a member in a constructor's list
    if flat.rstrip().endswith("=") or not _is_function(bare):
        return "other"
    return "function"


class Scan:
    """The functions and the declarations of one file."""

    def __init__(self, text):
        self.functions = []
        self.declarations = []
        self._stack = [_Scope("namespace")]
        code = DIRECTIVE.sub(lambda match: _spaces(match.group()), blank(text))
        for line, content in enumerate(code.split("\n"), 1):
            for character in content + "\n":
                self._read(character, line)

    def _read(self, character, line):
        scope = self._stack[-1]
        if character == "{":
            self._open(scope, line)
        elif character == "}":
            self._close(line)
        elif scope.kind in ("function", "enum", "other"):
            return
        elif character == ";" and scope.parens == 0:
            self._statement(scope, line)
            scope.clear()
        elif character == ":" and scope.kind == "class" and scope.head.strip() in ("public", "private", "protected"):
            scope.public = scope.head.strip() == "public"
            scope.clear()
        else:
            scope.parens += (character == "(") - (character == ")")
            if not scope.start and not character.isspace():
                scope.start = line
            scope.head += character

    def _open(self, scope, line):
        if scope.kind in ("function", "enum", "other") or scope.parens > 0:
            self._stack.append(_Scope("other"))
            return
        kind = _classify(scope.head)
        inner = _Scope(kind)
        if kind in ("class", "enum"):
            inner.declaration = self._declare(scope, "type", line)
            inner.public = not _bare(scope.head).startswith("class")
        elif kind == "function":
            inner.function = Function(self._declare(scope, "function", line).name, scope.start or line)
        if kind != "other":
            scope.clear()
        self._stack.append(inner)

    def _close(self, line):
        if len(self._stack) == 1:
            return
        closed = self._stack.pop()
        if closed.function:
            closed.function.last = line
            self.functions.append(closed.function)
        if closed.kind == "other" and self._stack[-1].kind in ("namespace", "class"):
            self._stack[-1].head += "{}"

    def _statement(self, scope, line):
        bare = _bare(scope.head)
        if re.fullmatch(r"(?:enum\s+)?(?:class|struct|union)\s+[\w:]+(?:\s*:\s*[\w:]+)?", bare):
            return  # a forward declaration
        if not bare or re.match(r"(?:using\s+namespace|static_assert|friend|extern\s+template|template)\b", bare):
            return
        if re.match(r"(?:using|typedef)\b", bare):
            self._declare(scope, "alias", line)
        else:
            self._declare(scope, "function" if _is_function(bare) else "variable", line)

    def _declare(self, scope, kind, line):
        owner = scope.declaration
        found = Declaration(
            kind=kind,
            name=_name(_bare(scope.head)),
            text=" ".join(scope.head.split()),
            first=scope.start or line,
            last=line,
            public=scope.public and (owner is None or owner.public),
            owner=owner,
        )
        if owner:
            owner.members.append(found)
        self.declarations.append(found)
        return found
