#!/bin/sh
# Runs pytest; up to three tests that failed run once more, one after the other with the machine to themselves.
#
#   sh tools/test.sh PHASE PYTEST_ARGUMENTS...
#
# Flights in wall-clock time and browsers that draw in software share two cores here with other tests. A test that
# fails among others and passes alone is named at the end as FLAKY, so that it is mended; it does not cost the run. More
# failures than that are no coincidence, and a test that fails alone too has failed.
set -u
phase=$1
shift
most=3
bin=$(dirname "$0")/../.venv/bin
cache=build/pytest/$phase
failed=$cache/v/cache/lastfailed

rm -rf "$cache"
"$bin/pytest" -o cache_dir="$cache" -v "$@"
status=$?
[ $status -eq 1 ] && [ -e "$failed" ] || exit $status
names=$("$bin/python" -c 'import json, sys; print(*json.load(open(sys.argv[1])), sep="\n")' "$failed")
[ "$(echo "$names" | wc -l)" -le $most ] || exit $status
echo "$names" | sed 's/^/test.sh: once more, alone: /'
"$bin/pytest" -o cache_dir="$cache" -v --last-failed --last-failed-no-failures none -m "" tests || exit
echo "$names" | sed 's/^/test.sh: FLAKY, failed among others and passed alone: /'
