# about: a RETURN trap that returns, which functions inherit: bash runs it for ever; the deadline ends that, and the trap
# sees: timeout
# timeout: 0.5
hook() { set -T; trap 'return 3' RETURN; return 5; }
