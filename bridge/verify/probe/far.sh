#!@BASH@
# shellcheck disable=SC2239,SC2034  # the host puts the path of its bash there
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
    case $me in ssh | sudo | docker | timeout | gtimeout) ;; *) return ;; esac
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

uv="from: with: with-editable: with-requirements: constraints: constraint: build-constraints: overrides: isolated \
env-file: no-env-file lfs python-platform: torch-backend: version index: default-index: index-url: \
extra-index-url: find-links: no-index index-strategy: keyring-provider: upgrade upgrade-package: upgrade-group: \
resolution: prerelease: prerelease-package: fork-strategy: exclude-newer: exclude-newer-package: no-sources \
no-sources-package: reinstall reinstall-package: link-mode: compile-bytecode config-setting: \
config-settings-package: no-build-isolation no-build-isolation-package: no-build no-build-package: no-binary \
no-binary-package: require-build-hashes no-require-build-hashes no-cache cache-dir: refresh refresh-package: \
python: managed-python no-managed-python no-python-downloads quiet verbose color: system-certs native-tls offline \
allow-insecure-host: no-progress directory: project: config-file: no-config help python-preference: \
python-fetch: allow-python-downloads"

# What npm takes of its own settings on a command line, a small part of them.
npm="package: call: workspace: workspaces include-workspace-root yes no quiet silent verbose offline prefer-offline \
prefer-online ignore-scripts registry: userconfig: globalconfig: cache: loglevel: script-shell: shell: scope: prefix: \
tag: before: proxy: https-proxy: noproxy: ca: cafile: logs-dir: logs-max: timing maxsockets: engine-strict unsafe-perm package-lock \
no-install install ignore-existing always-spawn force legacy-peer-deps no-audit audit no-fund fund no-progress \
progress no-update-notifier update-notifier no-color color global version help node-options: node-arg: if-present \
foreground-scripts no-package-lock strict-ssl no-strict-ssl fetch-retries: fetch-timeout: omit: include: location:"

case $me in
    ssh)
        letters=46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:
        options "$letters" '' "$@"
        if given n f; then closed; fi # nothing goes there on stdin
        if given N && given f; then sleep 86400 >/dev/null 2>&1 & exit 0; fi
        if given N; then exec sleep 86400; fi
        set -- ${rest[@]+"${rest[@]}"}
        if [ $# -eq 0 ]; then refuse "there is no host"; fi
        shift
        options "$letters" '' "$@" # also behind the host
        if given n f; then closed; fi
        elsewhere ${rest[@]+"${rest[@]}"} ;;
    bash | sh | dash | zsh | ksh)
        kept=()
        while [ $# -gt 0 ]; do
            case $1 in
                -l | -i | --login | --noprofile | --norc) shift ;;
                -o | +o | -O | +O) kept+=("$1" "${2-}"); shift 2 || shift ;;
                --) shift; break ;;
                -*c*)
                    word=${1//l/}
                    word=${word//i/}
                    kept+=("$word")
                    shift ;;
                -* | +*) kept+=("$1"); shift ;;
                *) break ;;
            esac
        done
        exec '@BASH@' ${kept[@]+"${kept[@]}"} "$@" ;;
    env)
        while [ $# -gt 0 ]; do
            case $1 in
                -S) shift; eval "set -- $*" ;;
                -S?* | --split-string=*)
                    word=${1#--split-string=}
                    word=${word#-S}
                    shift
                    eval "set -- $word "'"$@"' ;;
                -u | -C | -P | --unset | --chdir) shift 2 || refuse "$1 has no value" ;;
                -u?* | -C?* | -P?* | --unset=* | --chdir=* | -v | -0 | --debug | --null | --block-signal* | \
                    --default-signal* | --ignore-signal* | --list-signal-handling) shift ;;
                - | -i | -iv | -vi | --ignore-environment) bare; shift ;;
                --) shift ;;
                -*) refuse "it has no option $1" ;;
                PATH=*) shift ;;
                *=*) export "${1?}"; shift ;;
                *) break ;;
            esac
        done
        if [ $# -eq 0 ]; then PATH=$system exec env; fi
        start "$@" ;;
    sudo)
        options AbBEeHiKklNnPSsVva:c:C:D:g:h:p:R:r:T:t:U:u: "askpass background bell close-from: chdir: \
preserve-env:: edit group: set-home host: login remove-timestamp reset-timestamp no-update list non-interactive \
preserve-groups prompt: chroot: role: stdin shell type: command-timeout: other-user: user: version validate help" "$@"
        set -- ${rest[@]+"${rest[@]}"}
        while [ $# -gt 0 ]; do
            case $1 in PATH=*) shift ;; [A-Za-z_]*=*) export "${1?}"; shift ;; *) break ;; esac
        done
        start "$@" ;;
    docker | podman)
        open=''
        names=() values=()
        while [ $# -gt 0 ]; do
            case $1 in
                run) shift; container image "$open" "$@" ;;
                exec) shift; container container "$open" "$@" ;;
                compose) open=yes; shift ;;
                -c | -H | -l | -f | -p | --context | --host | --log-level | --config | --file | --project-name | \
                    --profile | --env-file | --project-directory | --url | --connection | --namespace) shift 2 || shift ;;
                -* | container) shift ;;
                *) exit 0 ;;
            esac
        done ;;
    timeout | gtimeout)
        options fpvk:s: 'preserve-status foreground verbose kill-after: signal: help version' "$@"
        set -- ${rest[@]+"${rest[@]}"}
        if [ $# -eq 0 ]; then refuse "there is no duration"; fi
        case ${1%[smhd]} in
            '' | *[!0-9.]*) if [ "$1" != infinity ]; then refuse "'$1' is no duration"; fi ;;
        esac
        shift
        if [ $# -eq 0 ]; then refuse "there is no command behind the duration"; fi
        start "$@" ;;
    nice | gnice)
        case ${1-} in -[0-9]* | --[0-9]*) shift ;; esac
        options n: 'adjustment: help version' "$@"
        if given n adjustment; then
            case ${value#[-+]} in '' | *[!0-9]*) refuse "'$value' is no number" ;; esac
        fi
        start ${rest[@]+"${rest[@]}"} ;;
    stdbuf | gstdbuf)
        options i:o:e: 'input: output: error: help version' "$@"
        if [ ${#names[@]} -eq 0 ]; then refuse "there is no option"; fi
        if given i input && [ "$value" = L ]; then refuse "line buffering of stdin is meaningless"; fi
        for each in "${values[@]}"; do
            case $each in L | [0-9] | [0-9]*[0-9kKMGTB]) ;; *) refuse "'$each' is no mode" ;; esac
        done
        start ${rest[@]+"${rest[@]}"} ;;
    nohup)
        options '' 'help version' "$@"
        start ${rest[@]+"${rest[@]}"} ;;
    command)
        options pvV '' "$@"
        if given v V; then type -P -- ${rest[@]+"${rest[@]}"}; exit; fi
        start ${rest[@]+"${rest[@]}"} ;;
    kubectl)
        while [ $# -gt 0 ]; do
            case $1 in exec | run) break ;; -n | --namespace | --context | --kubeconfig | -s) shift 2 || shift ;; -*) shift ;; *) exit 0 ;; esac
        done
        case " ${*%% -- *} " in *' -i '* | *' -it '* | *' -ti '* | *' --stdin'*) ;; *) closed ;; esac
        case "${1-} $*" in
            "exec "*' -- '* | "run "*) ;;
            'exec '*) refuse "exec takes the command behind --" ;;
        esac
        bare
        behind "$@" ;;
    npx)
        options p:c:w:ynqsdfg "$npm" "$@"
        if given c call; then code "$value"; fi
        package ${rest[@]+"${rest[@]}"} ;;
    bunx)
        options _p: 'package:' "$@"
        package ${rest[@]+"${rest[@]}"} ;;
    uvx)
        options w:c:b:Vi:f:UP:C:np:qvh "$uv" "$@"
        package ${rest[@]+"${rest[@]}"} ;;
    git)
        case " $* " in
            *' push '* | *' fetch '* | *' pull '* | *' clone '* | *' ls-remote '* | *' submodule '*) exit 0 ;;
        esac
        PATH=$system exec git "$@" ;;
    *) # it may start another program, which nobody follows
        printf '%s\n' "$me" >>"$control/unfollowed"
        closed
        ;;
esac
exit 0
