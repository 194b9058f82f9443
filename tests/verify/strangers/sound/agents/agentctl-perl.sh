#!/usr/bin/env bash
# agentctl of the platform team; perl, because it is on every one of our images

AGENT_CLI="agentctl"

_agentctl_perl='
use strict; use warnings; use JSON::PP;
binmode STDOUT, ":encoding(UTF-8)"; $| = 1;
my $screen = shift @ARGV;
while (my $line = <STDIN>) {
    my $event = eval { JSON::PP->new->utf8->decode($line) };
    next unless ref $event eq "HASH";
    my $kind = $event->{kind} // "";
    if ($kind eq "output" and ($event->{from} // "") eq "agent" and ref $event->{body} eq "HASH" and defined $event->{body}{text}) {
        print $event->{body}{text}, "\n";
    } elsif ($screen and $kind eq "tool") {
        print "[tool] ", $event->{name} // "?", "\n";
    }
}
'

agent_invoke() {
    agentctl run --wait --events ndjson --prompt-stdin < "$1"
}

agent_extract_response() { perl -e "$_agentctl_perl" 0 < "$1"; }

agent_format_display() { perl -e "$_agentctl_perl" 1; }
