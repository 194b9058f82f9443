#!@BASH@
# shellcheck disable=SC2239  # the host puts the path of its bash there
# In the place of a program that would reach outside of this machine, or that starts another: what it would
# start is started here, by a shell where the far side has one, and nothing leaves.
control='@CONTROL@'
system='@SYSTEM@'

# NAMES, each between colons, of options that take a value; then the arguments: $rest is what follows options.
options() {
    local valued=$1
    shift
    while [ $# -gt 0 ]; do
        case $1 in
            --) shift; break ;;
            --*=*) shift ;;
            -?*)
                case $valued in
                    *":$1:"*) shift; if [ $# -gt 0 ]; then shift; fi ;;
                    *) shift ;;
                esac ;;
            *) break ;;
        esac
    done
    rest=("$@")
}

start() {
    if [ $# -eq 0 ]; then exit 0; fi
    if ! type -P -- "$1" >/dev/null && [ -x "$control/record" ]; then exec "$control/record" "$@"; fi
    exec "$@"
}

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

container() {
    local variables=() entry='' image=$1 open=$2
    shift 2
    while [ $# -gt 0 ]; do
        case $1 in
            --interactive | -i | -[dtPqT]i* | -i[dtPqT]*) open=yes ;;
        esac
        case $1 in
            -e | --env) variables+=("$2"); shift 2 ;;
            --env=*) variables+=("${1#*=}"); shift ;;
            --entrypoint) entry=$2; shift 2 ;;
            --entrypoint=*) entry=${1#*=}; shift ;;
            --*=* | --rm | --init | --privileged | --read-only | --detach | --interactive | --tty | \
                --no-healthcheck | --sig-proxy | --disable-content-trust | --publish-all | --quiet | --no-deps | \
                --no-TTY | --build | --replace | --latest | --service-ports) shift ;;
            --?*) shift 2 || shift ;;
            -[ditPqlT] | -[ditPqT][ditPqT] | -[ditPqT][ditPqT][ditPqT]) shift ;;
            -[a-zA-Z]?*) shift ;;
            -?) shift 2 || shift ;;
            *) break ;;
        esac
    done
    local given=() each
    for each in ${variables[@]+"${variables[@]}"}; do
        case $each in
            *=*) given+=("$each") ;;
            *) if [ -n "${!each+x}" ]; then given+=("$each=${!each}"); fi ;;
        esac
    done
    if [ $# -eq 0 ]; then exit 0; fi
    local name=$1
    shift
    if [ -z "$open" ]; then exec </dev/null; fi
    bare
    for each in ${given[@]+"${given[@]}"}; do
        if [ "${each%%=*}" != PATH ]; then export "${each?}"; fi
    done
    if [ -n "$entry" ]; then set -- "$entry" "$@"; fi
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
    name=${name%%=*}
    if type -P -- "$name" >/dev/null; then exec "$name" "$@"; fi
    if [ -x "$control/record" ]; then exec "$control/record" "$name" "$@"; fi
    exit 0
}

me=${0##*/}
case $me in
    ssh | autossh | mosh)
        options :-B:-b:-c:-D:-E:-e:-F:-I:-i:-J:-L:-l:-m:-M:-O:-o:-p:-Q:-R:-S:-W:-w: "$@"
        while [ $# -gt ${#rest[@]} ]; do # -n, also among others: nothing goes there on stdin
            case $1 in -[46AaCfGgKkMNnqsTtVvXxYy]*) case $1 in *[nf]*) exec </dev/null ;; esac ;; esac
            shift
        done
        if [ $# -lt 2 ]; then exit 0; fi
        shift
        if [ "$1" = -- ]; then shift; fi
        bare
        exec '@BASH@' -c "$*" ;;
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
                -u | -C | --unset | --chdir) shift 2 ;;
                -S) shift; eval "set -- $*" ;;
                --) shift ;;
                -*) shift ;;
                PATH=*) shift ;;
                *=*) export "${1?}"; shift ;;
                *) break ;;
            esac
        done
        if [ $# -eq 0 ]; then PATH=$system exec env; fi
        start "$@" ;;
    su | runuser)
        code='' user=''
        while [ $# -gt 0 ]; do
            case $1 in
                -c | --command) code=$2; shift 2 || shift ;;
                --command=*) code=${1#*=}; shift ;;
                --) shift; break ;;
                -u | -g | -G | -s | -w | --user | --group | --shell) user=${2-}; shift 2 || shift ;;
                -*) shift ;;
                *) user=$1; shift ;;
            esac
        done
        if [ -n "$code" ]; then exec '@BASH@' -c "$code" "$me" "$@"; fi
        if [ -n "$user" ]; then start "$@"; fi ;;
    sudo | doas)
        options :-u:-g:-p:-h:-C:-r:-t:-T:-U:-D:-R:--user:--group:--chdir:--host:--prompt: "$@"
        set -- ${rest[@]+"${rest[@]}"}
        while [ $# -gt 0 ]; do
            case $1 in PATH=*) shift ;; *=*) export "${1?}"; shift ;; *) break ;; esac
        done
        start "$@" ;;
    docker | podman | nerdctl | docker-compose)
        open=''
        case "$me ${1-}" in docker-compose* | *' compose') open=yes ;; esac
        while [ $# -gt 0 ]; do
            case $1 in
                run) shift; container image "$open" "$@" ;;
                exec) shift; container container "$open" "$@" ;;
                -c | -H | -l | -f | -p | --context | --host | --log-level | --config | --file | --project-name) shift 2 || shift ;;
                -* | compose | container) shift ;;
                *) exit 0 ;;
            esac
        done ;;
    gtimeout)
        options :-k:-s:--kill-after:--signal: "$@"
        set -- ${rest[@]+"${rest[@]}"}
        if [ $# -lt 2 ]; then exit 125; fi
        shift
        start "$@" ;;
    direnv)
        if [ "${1-}" != exec ] || [ $# -lt 3 ]; then exit 0; fi
        shift 2
        start "$@" ;;
    devcontainer)
        if [ "${1-}" != exec ]; then exit 0; fi
        shift
        options :--workspace-folder:--config:--override-config:--container-id:--id-label:--remote-env:--docker-path:--docker-compose-path:--container-data-folder:--log-level: "$@"
        start ${rest[@]+"${rest[@]}"} ;;
    kubectl | oc | mise | nix | limactl | vagrant)
        case "$me ${1-}" in
            'kubectl exec' | 'oc exec' | 'kubectl run' | 'oc run')
                case "${*%% -- *} " in *' -i '* | *' -it '* | *' -ti '* | *' --stdin'*) ;; *) exec </dev/null ;; esac ;;
        esac
        while [ $# -gt 0 ] && [ "$1" != -- ] && [ "$1" != -c ] && [ "$1" != --command ]; do shift; done
        if [ $# -gt 0 ]; then shift; fi
        start "$@" ;;
    npx | bunx | pnpx)
        case " $* " in *' -c '*) while [ "$1" != -c ]; do shift; done; exec '@BASH@' -c "$2" ;; esac
        options :-p:--package:-w:--workspace: "$@"
        package ${rest[@]+"${rest[@]}"} ;;
    uvx | pipx)
        for word in "$@"; do # an option of the tool, in front of its name: it is refused
            case $word in
                --yolo | --yes | --json | --print | --prompt | --prompt=* | --task | --task=* | --message | --headless | --output-format*)
                    exit 2 ;;
                run | -*) ;;
                *) break ;;
            esac
        done
        if [ "$me" = pipx ]; then if [ "${1-}" = run ]; then shift; else exit 0; fi; fi
        options :--from:--with:-p:--python:--index-url:--spec:--pip-args:--refresh-package: "$@"
        package ${rest[@]+"${rest[@]}"} ;;
    npm | pnpm | yarn | bun | uv)
        if [ "${1-} ${2-}" = "tool run" ]; then shift; fi
        case ${1-} in
            exec | x | dlx | run) shift ;;
            *) exit 0 ;;
        esac
        options :-p:--package:--from:--with:--python: "$@"
        package ${rest[@]+"${rest[@]}"} ;;
    git)
        case " $* " in
            *' push '* | *' fetch '* | *' pull '* | *' clone '* | *' ls-remote '* | *' submodule '*) exit 0 ;;
        esac
        PATH=$system exec git "$@" ;;
esac
exit 0
