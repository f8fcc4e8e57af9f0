# shellcheck shell=bash
# What the cost model says of the papers' machines: docs/predict.md.

# predict_all [FOLDER]: into build/predictions, or into this folder.
predict_all() {
  build_targets lockswap-model lockswap-model-structures lockswap-registry
  "$BUILD/bin/lockswap" predict --page "${1:-$BUILD/predictions}"
}
