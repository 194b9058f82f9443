#!/usr/bin/env bash
# shellcheck disable=SC2034,SC2086
AGENT_CLI="droid"
AGENT_ARGS=(exec --auto high --output-format stream-json)

agent_invoke() { "$AGENT_CLI" "${AGENT_ARGS[@]}" - < "$1"; }

# perl has JSON::PP in its core since 5.14, and starts once instead of once per line
_droid_perl() {
    perl -MJSON::PP -ne '
        BEGIN { $| = 1; binmode STDOUT, ":utf8"; $mode = $ENV{DROID_VIEW} || "say" }
        my $e = eval { decode_json($_) } or next;
        next unless ref $e eq "HASH";
        if (($e->{type} // "") eq "message" && ($e->{role} // "") eq "assistant") {
            print $e->{text}, "\n" if length($e->{text} // "");
        } elsif ($mode eq "all" && ($e->{type} // "") eq "tool_call") {
            print "[tool] ", $e->{toolName} // "?", "\n";
        } elsif ($mode eq "all" && ($e->{type} // "") eq "error") {
            print "[error] ", $e->{message} // "?", "\n";
        }
    ' "$@"
}

agent_extract_response() { _droid_perl "$1"; }
agent_format_display()   { DROID_VIEW=all _droid_perl; }

agent_pre_iteration() { _DROID_STARTED=$SECONDS; }
agent_post_iteration() { log "droid took $((SECONDS - ${_DROID_STARTED:-$SECONDS})) s"; }
