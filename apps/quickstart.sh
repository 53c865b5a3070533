#!/usr/bin/env bash
# From a fresh Debian to a trained model: installs what is missing, builds, and trains a small network on Fashion-MNIST
# with four peers, some of which are killed on the way. Arguments go to `planaria train`; can be run again.
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

install_packages
build release planaria_program
command=(build/release/apps/planaria train apps/configs/fashion-mnist.toml "$@")
say "training: ${command[*]}"
exec "${command[@]}"
