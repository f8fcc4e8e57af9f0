# shellcheck shell=bash
# What the cost model says of the papers' machines: docs/predict.md.

# Each draw takes about 110 CPU seconds, so these take eleven minutes on two free processors.
PREDICT_DRAWS=12

# predict_all [FOLDER]: into build/predictions, or into this folder.
predict_all() {
  build_targets lockswap-model lockswap-model-structures lockswap-registry
  "$BUILD/bin/lockswap" predict --page "${1:-$BUILD/predictions}" --draws "$PREDICT_DRAWS"
}
