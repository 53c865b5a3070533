# Sourced by apps/quickstart.sh and tests/run.sh: installs what is missing, configures and builds. Bash; every step says
# what it does and, when it fails, what failed and how to go on. Can be run again at any point.
set -euo pipefail
planaria_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

say() { printf '==> %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Runs a command as root: directly, or by sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    printf 'error: neither root nor sudo, so this cannot run: %s\n' "$*" >&2
    return 1
  fi
}

# Prints the packages of apps/packages.txt that are not installed.
missing_packages() {
  local package
  sed 's/#.*//' "$planaria_root/apps/packages.txt" | while read -r package; do
    [ -z "$package" ] && continue
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s\n' "$package"
  done
}

install_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    fail "this is not a Debian system; install what apps/packages.txt lists, then run: cmake --preset release && cmake --build --preset release"
  local missing
  mapfile -t missing < <(missing_packages)
  if [ "${#missing[@]}" -eq 0 ]; then
    say "packages: all installed"
  else
    say "packages: installing ${missing[*]}"
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
    as_root "${apt[@]}" update || say "apt-get update failed; trying with the package lists that are here"
    as_root "${apt[@]}" install -y --no-install-recommends "${missing[@]}" || true
    mapfile -t missing < <(missing_packages)
    [ "${#missing[@]}" -eq 0 ] || fail "could not install: ${missing[*]}
       Install them yourself (apt-get install ${missing[*]}) and run this again."
  fi
  choose_openblas
}

# LibTorch uses whichever BLAS the system has chosen: of OpenBLAS's variants the OpenMP one is 5 times faster when several
# trainers share a process (docs/contributing.md).
choose_openblas() {
  local triplet name link wanted
  triplet="$(gcc -print-multiarch)"
  for name in libblas.so.3 liblapack.so.3 libopenblas.so.0 libblas.so liblapack.so libopenblas.so; do
    link="$name-$triplet"
    wanted="/usr/lib/$triplet/openblas-openmp/$name"
    [ -e "$wanted" ] || continue
    [ "$(update-alternatives --query "$link" 2>/dev/null | sed -n 's/^Value: //p')" = "$wanted" ] && continue
    say "BLAS: choosing $wanted"
    as_root update-alternatives --set "$link" "$wanted" ||
      say "could not choose it; training works, but is slower. Run: update-alternatives --set $link $wanted"
  done
}

# Prints how many compilers may run at once: one a core, each with 2 GiB of memory.
build_jobs() {
  local cores memory_kib limit
  cores="$(nproc)"
  memory_kib="$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)"
  limit="$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)"
  if [ "$limit" != max ] && [ "$((limit / 1024))" -lt "$memory_kib" ]; then memory_kib="$((limit / 1024))"; fi
  local by_memory="$((memory_kib / 1024 / 1024 / 2))"
  [ "$by_memory" -ge 1 ] || by_memory=1
  echo "$((cores < by_memory ? cores : by_memory))"
}

# build PRESET [TARGET]: configures and builds. JOBS=N overrides the number of compilers.
build() {
  local preset="$1" target="${2:-all}" fresh=() jobs="${JOBS:-$(build_jobs)}"
  cd "$planaria_root"
  local cache="build/$preset/CMakeCache.txt"
  if [ -e "$cache" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$planaria_root" "$cache"; then
    say "build/$preset was made for another folder: starting afresh"
    fresh=(--fresh)
  fi
  say "configuring build/$preset"
  cmake --preset "$preset" "${fresh[@]}" || fail "configuring failed; the message above names what is missing"
  say "building build/$preset with $jobs jobs (a first build takes some minutes: LibTorch's headers are large)"
  cmake --build --preset "$preset" --target "$target" --parallel "$jobs" ||
    fail "building failed; the first error is above. If a compiler was killed for lack of memory: JOBS=1 ${0}"
}
