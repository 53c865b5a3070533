#!/usr/bin/env bash
# From a fresh Debian to a trained model: installs what is missing, builds, and trains a small network on Fashion-MNIST
# with four peers, some of which are killed on the way. Arguments go to `planaria train`; can be run again: each run has a
# directory of its own below build/runs.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install_packages
build release planaria_program
mkdir -p build/runs
run_dir="$(mktemp -d build/runs/fashion-mnist-XXXXXX)"
command=(build/release/apps/planaria train apps/configs/fashion-mnist.toml --set "run_dir=$run_dir" "$@")
say "training: ${command[*]}"
exec "${command[@]}"
