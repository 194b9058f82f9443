# shellcheck shell=bash disable=SC2154  # the second half of far.sh: each program that starts another
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
    timeout)
        options fpvk:s: 'preserve-status foreground verbose kill-after: signal: help version' "$@"
        set -- ${rest[@]+"${rest[@]}"}
        if [ $# -eq 0 ]; then refuse "there is no duration"; fi
        case ${1%[smhd]} in
            '' | *[!0-9.]*) if [ "$1" != infinity ]; then refuse "'$1' is no duration"; fi ;;
        esac
        shift
        if [ $# -eq 0 ]; then refuse "there is no command behind the duration"; fi
        start "$@" ;;
    nice)
        case ${1-} in -[0-9]* | --[0-9]*) shift ;; esac
        options n: 'adjustment: help version' "$@"
        if given n adjustment; then
            case ${value#[-+]} in '' | *[!0-9]*) refuse "'$value' is no number" ;; esac
        fi
        start ${rest[@]+"${rest[@]}"} ;;
    stdbuf)
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
