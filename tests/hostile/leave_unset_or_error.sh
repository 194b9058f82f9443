# about: ${x:?} ends a shell that is not interactive
# sees: exited | returned 1
# state: any
hook() { : "${NOBODY_HAS_SET_THIS:?is missing}"; }
