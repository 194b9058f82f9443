# about: options that `local -` brings back while exit unwinds, errexit among them
# sees: exited 4
set -e
hook() { local -; set +e; outer; }
outer() { local -; set -e; inner; }
inner() { local -; set -u; exit 4; }
