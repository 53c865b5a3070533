#!/usr/bin/env bash
# Installs what is missing, builds and runs every test. The last line is ctest's own summary, the status is ctest's.
#
#   tests/run.sh                          the release preset
#   tests/run.sh --preset asan            or debug, tsan; PRESET=asan does the same
#   tests/run.sh -L unit                  other arguments go to ctest
source "$(dirname "${BASH_SOURCE[0]}")/../apps/setup.sh"

preset="${PRESET:-release}"
arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
    --preset) preset="${2:?--preset needs a name}"; shift ;;
    --preset=*) preset="${1#*=}" ;;
    *) arguments+=("$1") ;;
  esac
  shift
done

install_packages
build "$preset"
say "testing build/$preset"
set +e
# ctest prints its summary before the list of failures and the total time; it is held back and printed last.
ctest --preset "$preset" --no-tests=error --output-on-failure "${arguments[@]}" 2>&1 |
  awk '/^[0-9]+% tests passed, [0-9]+ tests failed out of [0-9]+$/ { summary = $0; next } { print; fflush() }
       END { if (summary != "") print summary }'
exit "${PIPESTATUS[0]}"
