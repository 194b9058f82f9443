# about: whatever the script finds in the folder gets a line
# sees: returned 3 | died
# state: any
hook() {
    for each in "${TMPDIR:-/tmp}"/ralph-bridge-*/[qraibtm]*; do [ "${each%/*}" = "$__rb_d" ] && echo junk >>"$each"; done
    for each in /proc/$$/fd/*; do echo junk >>"$each"; done 2>/dev/null
    return 3
}
