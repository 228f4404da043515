# Sourced by the scripts beside it: where builds go, where Python lives. Needs `root`, the checkout.

# One target directory for everything. A shared one outside the checkout is reused where it exists.
shared="${XDG_CACHE_HOME:-$HOME/.cache}/candle-graph/target"
if [ -z "${CARGO_TARGET_DIR:-}" ]; then
  if [ -d "$shared" ]; then CARGO_TARGET_DIR="$shared"; else CARGO_TARGET_DIR="$root/target"; fi
fi
export CARGO_TARGET_DIR

venv="$CARGO_TARGET_DIR/python"
