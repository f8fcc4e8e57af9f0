# shellcheck shell=bash
# What the cost model says of the papers' machines: docs/predict.md.

# Each draw takes about 10 CPU seconds, so these take four minutes on two free processors.
PREDICT_DRAWS=40

# predict_all [FOLDER]: into build/predictions, or into this folder.
predict_all() {
  build_targets lockswap-model lockswap-registry
  "$BUILD/bin/lockswap" predict --page "${1:-$BUILD/predictions}" --draws "$PREDICT_DRAWS"
}
