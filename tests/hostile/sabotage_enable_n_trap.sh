# about: the builtins that unwinding needs are turned off
# sees: exited 3
enable -n trap shopt return
hook() { inner; echo no; }
inner() { exit 3; echo no; }
