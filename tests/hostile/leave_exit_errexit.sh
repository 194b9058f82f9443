# about: errexit is on when a hook exits; the unwinding returns from every frame with a failure
# sees: exited 3
set -e
hook() { leave; echo no; }
leave() { eval 'exit 3'; }
