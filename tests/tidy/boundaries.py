"""Which file may see which: layers, Torch, generated code, and files that nobody uses."""

import re

import cpp
from tree import LAYERS, Problem

TORCH = re.compile(r"^(?:torch|ATen|c10|caffe2)/")


def check_includes(tree):
    public = {path for layer in tree.layers() for path in layer.headers}
    torch_headers = {path for layer in tree.layers() if layer.torch for path in layer.headers + layer.detail}
    without_torch = {p for layer in tree.layers() if not layer.torch for p in layer.headers + layer.detail + layer.sources}
    for path in tree.cpp(under=[f"{layer}/" for layer in LAYERS]):
        height = LAYERS.index(path.split("/")[0])
        free_of_torch = path in without_torch or path.startswith("runtime/")
        for line, name in cpp.includes(tree.text(path)):
            own = re.match(r"planaria/(\w+)/(.+)$", name)
            target = f"{own.group(1)}/{own.group(2)}" if own else name
            if own and own.group(1) in LAYERS and LAYERS.index(own.group(1)) > height:
                yield Problem(path, line, "upward-include", f"{path.split('/')[0]}/ must not know {name}: turn the dependency round")
            if free_of_torch and (TORCH.match(name) or target in torch_headers):
                yield Problem(path, line, "torch-include", f"this part never sees Torch: {name} belongs behind bytes or a handle")
            if path in public and own and target not in public:
                yield Problem(path, line, "private-include", f"an installed header includes {name}, which is not installed")
            if name.endswith(".pb.h") and path.endswith(".hpp"):
                yield Problem(path, line, "proto-include", "generated headers stay inside one .cpp a message family")


def check_dead_files(tree):
    listed = tree.listed()
    included = set()
    for path in tree.cpp():
        for _, name in cpp.includes(tree.text(path)):
            included.add(name.removeprefix("planaria/"))
            included.add(name.split("/")[-1])
    for path in tree.cpp():
        used = path in listed
        if path.endswith(".hpp") and not used:
            tail = path.split("/", 1)[-1]
            used = path in included or tail in included or path.split("/")[-1] in included
        if not used:
            yield Problem(path, 1, "dead-file", "no CMakeLists.txt lists it: list it or remove it")
    existing = set(tree.paths)
    for layer in tree.layers():
        for path in layer.headers + layer.detail + layer.sources:
            if path not in existing:
                yield Problem(f"{layer.folder}/CMakeLists.txt", 1, "missing-file", f"lists {path}, which does not exist")


def check_protos(tree):
    for path in tree.select(".proto"):
        text = tree.text(path)
        if not re.search(r"/proto/planaria/v\d+/[a-z_]+\.proto$", path):
            yield Problem(path, 1, "proto", "belongs at LAYER/proto/planaria/vN/NAME.proto: LibTorch takes names at the root")
        if not re.search(r"^package planaria\.", text, re.MULTILINE):
            yield Problem(path, 1, "proto", "has no 'package planaria.…;'")
        for match in re.finditer(r"\benum\s+(\w+)\s*\{([^}]*)\}", text):
            zero = re.search(r"(\w+)\s*=\s*0\s*;", match.group(2))
            if not zero or not zero.group(1).endswith("UNSPECIFIED"):
                line = text.count("\n", 0, match.start()) + 1
                yield Problem(path, line, "proto", f"the zero of enum {match.group(1)} must be …UNSPECIFIED")
