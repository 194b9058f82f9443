#!@BASH@
# shellcheck disable=SC2239,SC2034  # the host puts the path of its bash there, and starters.sh behind it
# In the place of a program that would reach outside of this machine, or that starts another: what it would
# start is started here, by a shell where the far side has one, and nothing leaves. What the real one would refuse
# is refused, with its reason.
control='@CONTROL@'
system='@SYSTEM@'

refuse() {
    printf '%s: %s' "$me" "$*" >"$control/refused"
    printf '%s: %s\n' "$me" "$*" >&2
    exit 125
}

# LETTERS NAMES ARGUMENT...: read options as getopt does, up to the first word that is none. A letter or name that
# takes a value has a colon behind it, two when its value can only be joined; a name may be cut short. With a _ among
# LETTERS, what isn't listed is taken for a switch, otherwise it is refused. $rest is what follows, $names and $values
# are what was read; $ended whether a -- did it.
options() {
    local letters=$1 known=" $2 " word name more
    shift 2
    names=() values=() rest=() ended=''
    while [ $# -gt 0 ]; do
        word=$1
        case $word in
            --) ended=yes; shift; break ;;
            --*)
                shift
                name=${word#--}
                name=${name%%=*}
                if [[ ${#name} -gt 2 && $known != *" $name"[\ :]* && $known == *" $name"* ]]; then
                    more=${known#*" $name"}
                    name=$name${more%%[ :]*}
                fi
                case $known in
                    *" $name: "*)
                        case $word in
                            *=*) keep "$name" "${word#*=}" ;;
                            *) if [ $# -eq 0 ]; then refuse "$word has no value"; fi
                                proper "$word" "$1"
                                keep "$name" "$1"
                                shift ;;
                        esac ;;
                    *" $name "* | *" $name:: "*) keep "$name" "${word#*=}" ;;
                    *) case $letters in *_*) keep "$name" '' ;; *) refuse "it has no option $word" ;; esac ;;
                esac ;;
            -?*)
                shift
                word=${word#-}
                while [ -n "$word" ]; do
                    name=${word:0:1}
                    word=${word:1}
                    case $letters in
                        *"$name::"*) keep "$name" "$word"; word='' ;;
                        *"$name:"*)
                            if [ -z "$word" ]; then
                                if [ $# -eq 0 ]; then refuse "-$name has no value"; fi
                                proper "-$name" "$1"
                                word=$1
                                shift
                            fi
                            keep "$name" "${word#=}"
                            word='' ;;
                        *"$name"* | *_*) keep "$name" '' ;;
                        *) refuse "it has no option -$name" ;;
                    esac
                done ;;
            *) break ;;
        esac
    done
    rest=("$@")
}

# No user, host, folder or duration looks like an option; what is given to another program may.
proper() {
    case $me in ssh | sudo | docker | timeout) ;; *) return ;; esac
    case $2 in -- | -[A-Za-z] | --[a-z]*) refuse "$1 takes $2 for its value" ;; esac
}

keep() {
    names+=("$1")
    values+=("$2")
}

# Whether one of the options that were read is any of these; $value is what the last of them was given.
given() {
    local each at found=1
    for ((at = 0; at < ${#names[@]}; at++)); do
        for each in "$@"; do
            if [ "${names[at]}" = "$each" ]; then value=${values[at]} found=0; fi
        done
    done
    return "$found"
}

# What stands behind --.
behind() {
    while [ $# -gt 0 ] && [ "$1" != -- ]; do shift; done
    if [ $# -gt 0 ]; then shift; fi
    start "$@"
}

# Nothing arrives on stdin. What is written there is read all the same, or its writer dies of SIGPIPE, if it is late.
closed() {
    if [ -p /dev/stdin ]; then cat >/dev/null; fi
    exec </dev/null
}

start() {
    if [ $# -eq 0 ]; then exit 0; fi
    case $1 in -*) refuse "'$1' is no program" ;; esac
    if ! type -P -- "$1" >/dev/null && [ -x "$control/record" ]; then exec "$control/record" "$@"; fi
    exec "$@"
}

code() { exec '@BASH@' -c "$@"; }

# What a host that is elsewhere, or a container, has of our environment: nothing but what makes this work.
bare() {
    local name
    for name in $(compgen -e); do
        case $name in
            PATH | HOME | TMPDIR | BASH_ENV | LC_* | LANG | TERM) ;;
            *) unset -v "$name" 2>/dev/null ;;
        esac
    done
}

elsewhere() {
    if [ $# -eq 0 ]; then exit 0; fi
    bare
    code "$*"
}

container() {
    local image=$1 open=$2 at each entry='' variables=()
    shift 2
    case "$me $image $open" in
        'docker image ')
            options "a:c:de:h:il:m:p:Pqtu:v:w:" "add-host: annotation: attach: blkio-weight: blkio-weight-device: \
cap-add: cap-drop: cgroup-parent: cgroupns: cidfile: cpu-count: cpu-percent: cpu-period: cpu-quota: cpu-rt-period: \
cpu-rt-runtime: cpu-shares: cpus: cpuset-cpus: cpuset-mems: detach detach-keys: device: device-cgroup-rule: \
device-read-bps: device-read-iops: device-write-bps: device-write-iops: disable-content-trust dns: dns-opt: \
dns-option: dns-search: domainname: entrypoint: env: env-file: expose: gpus: group-add: health-cmd: \
health-interval: health-retries: health-start-interval: health-start-period: health-timeout: help hostname: init \
interactive io-maxbandwidth: io-maxiops: ip: ip6: ipc: isolation: kernel-memory: label: label-file: link: \
link-local-ip: log-driver: log-opt: mac-address: memory: memory-reservation: memory-swap: memory-swappiness: \
mount: name: net: network: net-alias: network-alias: no-healthcheck oom-kill-disable oom-score-adj: pid: \
pids-limit: platform: privileged publish: publish-all pull: quiet read-only restart: rm runtime: security-opt: \
shm-size: sig-proxy stop-signal: stop-timeout: storage-opt: sysctl: tmpfs: tty ulimit: use-api-socket user: \
userns: uts: volume: volume-driver: volumes-from: workdir:" "$@" ;;
        'docker container ')
            options "de:itu:w:" "detach detach-keys: env: env-file: interactive privileged tty user: workdir: \
help" "$@" ;;
        *)
            while [ $# -gt 0 ]; do # a list of options would be too long, and not the same everywhere
                case $1 in
                    --env | --entrypoint | -e) if [ $# -gt 1 ]; then keep "${1##*-}" "$2"; shift 2; else shift; fi ;;
                    --env=* | --entrypoint=*) each=${1#--}; keep "${each%%=*}" "${each#*=}"; shift ;;
                    --interactive | --detach | --latest | -l) keep "${1:$((${#1} > 2 ? 2 : 1)):1}" ''; shift ;;
                    --*=* | --rm | --init | --privileged | --read-only | --tty | --no-healthcheck | \
                        --sig-proxy | --disable-content-trust | --publish-all | --quiet | --quiet-pull | --no-deps | \
                        --no-TTY | --no-tty | --build | --replace | --service-ports | --use-aliases | \
                        --remove-orphans | --tls-verify | --rmi | --http-proxy | --no-hosts | --no-hostname) shift ;;
                    --?*) shift 2 || shift ;;
                    -[ditPqT] | -[ditPqT][ditPqT] | -[ditPqT][ditPqT][ditPqT])
                        case $1 in *i*) keep i '' ;; esac
                        case $1 in *d*) keep d '' ;; esac
                        shift ;;
                    -[a-zA-Z]?*) shift ;;
                    -?) shift 2 || shift ;;
                    *) break ;;
                esac
            done
            rest=("$@") ;;
    esac
    if given d detach; then refuse "with -d nobody sees what it prints"; fi
    if given i interactive; then open=yes; fi
    for ((at = 0; at < ${#names[@]}; at++)); do
        each=${values[at]}
        case ${names[at]} in
            entrypoint) entry=$each ;;
            e | env)
                case $each in
                    *=*) variables+=("$each") ;;
                    *) if [ -n "${!each+x}" ]; then variables+=("$each=${!each}"); fi ;;
                esac ;;
        esac
    done
    set -- ${rest[@]+"${rest[@]}"}
    local name=''
    if ! given l; then
        if [ $# -eq 0 ]; then refuse "there is no $image"; fi
        name=$1
        shift
    fi
    if [ -z "$open" ]; then closed; fi
    bare
    for each in ${variables[@]+"${variables[@]}"}; do
        if [ "${each%%=*}" != PATH ]; then export "${each?}"; fi
    done
    if [ -n "$entry" ]; then set -- "$entry" "$@"; fi
    case "${1-} ${2-}" in
        '-v '*:/* | '-e '[A-Z]*=* | '-it '* | '--volume '* | '--workdir '* | '--rm '* | '--mount '* | '--entrypoint '*)
            refuse "$1 is behind the $image, where it is no option of $me" ;;
    esac
    case ${1-} in
        '' | -*) # the image has its own program
            if [ "$image" = image ] && [ -x "$control/record" ]; then exec "$control/record" "$name" "$@"; fi
            exit 0 ;;
    esac
    start "$@"
}

package() {
    if [ $# -eq 0 ]; then exit 0; fi
    local name=$1
    shift
    name=${name##*/}
    name=${name%%@*}
    name=${name%%[=<>]*}
    if type -P -- "$name" >/dev/null; then exec "$name" "$@"; fi
    if [ -x "$control/record" ]; then exec "$control/record" "$name" "$@"; fi
    exit 0
}

me=${0##*/}
