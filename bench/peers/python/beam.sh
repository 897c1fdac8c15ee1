#!/bin/sh
# W1 on Apache Beam Python, in a virtual environment that is made the first time.
#   cargo run --release -p purlin-bench --bin gentext -- --megabytes=5 --output=/tmp/text
#   bench/peers/python/beam.sh /tmp/text
# Prints a line of JSON; prints why and skips where Python or Beam is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
venv=${BEAM_VENV:-$here/.venv}
skip() { echo "beam-python skipped: $1" >&2; exit 0; }
[ $# -eq 1 ] && [ -r "$1" ] || { echo "usage: beam.sh TEXT" >&2; exit 2; }
command -v "$python" >/dev/null || skip "there is no $python"
if [ ! -x "$venv/bin/python" ]; then
    "$python" -m venv "$venv" || skip "no virtual environment could be made"
fi
if ! "$venv/bin/python" -c 'import apache_beam' 2>/dev/null; then
    "$venv/bin/pip" install --quiet 'apache-beam==2.77.0' >&2 || skip "apache-beam 2.77.0 could not be installed"
fi
exec "$venv/bin/python" "$here/wordcount.py" "$1"
