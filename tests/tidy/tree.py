"""The files under a root, and what the CMakeLists say about them."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

LAYERS = ("storage", "runtime", "actors", "apps")
SKIPPED = {".git", "build", "out", "__pycache__"}
TEXT = {".hpp", ".cpp", ".md", ".py", ".sh", ".cmake", ".txt", ".proto", ".toml", ".supp", ".in", ".json", ""}


@dataclass
class Problem:
    """What a rule found. `subject` is what an exception names: a function, or nothing."""

    path: str
    line: int
    rule: str
    text: str
    subject: str = ""

    def __str__(self):
        return f"{self.path}:{self.line}: {self.rule}: {self.text}"


@dataclass
class Layer:
    """One planaria_add_layer call; paths are relative to the root."""

    name: str
    folder: str
    torch: bool
    headers: list = field(default_factory=list)
    detail: list = field(default_factory=list)
    sources: list = field(default_factory=list)


class Tree:
    def __init__(self, root):
        self.root = Path(root)
        self.paths = sorted(self._walk())
        self._texts = {}

    def _walk(self):
        for folder, folders, names in os.walk(self.root):
            folders[:] = [name for name in folders if name not in SKIPPED and not name.startswith("build-")]
            for name in names:
                path = Path(folder) / name
                if path.suffix in TEXT and not path.is_symlink():
                    yield path.relative_to(self.root).as_posix()

    def text(self, path):
        if path not in self._texts:
            self._texts[path] = (self.root / path).read_text(encoding="utf-8", errors="replace")
        return self._texts[path]

    def lines(self, path):
        return self.text(path).split("\n")

    def select(self, *endings, under=("",)):
        """The paths with one of the endings below one of the folders."""
        return [path for path in self.paths if path.endswith(endings) and path.startswith(tuple(under))]

    def cpp(self, under=("",)):
        return self.select(".hpp", ".cpp", under=under)

    def cmake(self):
        return [path for path in self.paths if path.endswith(("CMakeLists.txt", ".cmake"))]

    def listed(self):
        """Every C++ file that a CMake file names, relative to the root."""
        found = set()
        for path in self.cmake():
            folder = PurePosixPath(path).parent
            for name in re.findall(r'[^\s"()]+\.[ch]pp\b', _uncommented(self.text(path))):
                name = re.sub(r"^\$\{(?:CMAKE_SOURCE_DIR|PROJECT_SOURCE_DIR)\}/", "/", name)
                name = re.sub(r"^\$\{CMAKE_CURRENT_(?:SOURCE|LIST)_DIR\}/", "", name)
                joined = name[1:] if name.startswith("/") else (folder / name).as_posix()
                found.add(os.path.normpath(joined))
        return found

    def layers(self):
        layers = []
        for path in self.cmake():
            folder = PurePosixPath(path).parent.as_posix()
            for call in re.findall(r"^planaria_add_layer\(([^)]*)\)", _uncommented(self.text(path)), re.MULTILINE):
                layers.append(_layer(call.split(), folder))
        return layers


def _uncommented(text):
    return re.sub(r"#[^\n]*", "", text)


def _layer(words, folder):
    layer = Layer(words[0], folder, "TORCH" in words)
    lists = {"HEADERS": layer.headers, "DETAIL": layer.detail, "SOURCES": layer.sources}
    current = None
    for word in words[1:]:
        if word.isupper():
            current = lists.get(word)
        elif current is not None:
            current.append(f"{folder}/{word}")
    return layer
