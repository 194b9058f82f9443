# shellcheck shell=bash disable=SC2154  # the second half of far.sh: each program that starts another
# Those of uvx; `uv run` has some more.
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
    ssh | autossh | mosh)
        letters=46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:
        long=''
        if [ "$me" != ssh ]; then letters=_B:b:c:D:E:e:F:I:i:J:L:l:m:M:O:o:p:Q:R:S:W:w: long='ssh: predict: port: server: client:'; fi
        options "$letters" "$long" "$@"
        if given n f; then closed; fi # nothing goes there on stdin
        if given N && given f; then sleep 86400 >/dev/null 2>&1 & exit 0; fi
        if given N; then exec sleep 86400; fi
        set -- ${rest[@]+"${rest[@]}"}
        if [ $# -eq 0 ]; then refuse "there is no host"; fi
        shift
        options "$letters" "$long" "$@" # also behind the host
        if given n f; then closed; fi
        elsewhere ${rest[@]+"${rest[@]}"} ;;
    sshpass)
        options ef:d:p:P:vhV '' "$@"
        start ${rest[@]+"${rest[@]}"} ;;
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
    su | runuser)
        run='' user=''
        while [ $# -gt 0 ]; do
            case $1 in
                -c | --command) run=${2-}; shift 2 || refuse "$1 has no value" ;;
                --command=*) run=${1#*=}; shift ;;
                --) shift; break ;;
                -u | --user) user=${2-}; shift 2 || shift ;;
                -g | -G | -s | -w | --group | --supp-group | --shell | --whitelist-environment) shift 2 || shift ;;
                -*) shift ;;
                *) if [ -n "$user" ]; then break; fi; user=$1; shift ;;
            esac
        done
        if [ -n "$run" ]; then code "$run" "$me" "$@"; fi
        if [ -n "$user" ]; then start "$@"; fi ;;
    sudo | doas)
        if [ "$me" = doas ]; then
            options Lnsa:C:u: '' "$@"
        else
            options AbBEeHiKklNnPSsVva:c:C:D:g:h:p:R:r:T:t:U:u: "askpass background bell close-from: chdir: \
preserve-env:: edit group: set-home host: login remove-timestamp reset-timestamp no-update list non-interactive \
preserve-groups prompt: chroot: role: stdin shell type: command-timeout: other-user: user: version validate help" "$@"
        fi
        set -- ${rest[@]+"${rest[@]}"}
        while [ $# -gt 0 ]; do
            case $1 in PATH=*) shift ;; [A-Za-z_]*=*) export "${1?}"; shift ;; *) break ;; esac
        done
        start "$@" ;;
    docker | podman | nerdctl | finch | docker-compose | podman-compose | container)
        open=''
        names=() values=()
        case "$me ${1-}" in *-compose* | *' compose') open=yes ;; esac
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
    ionice)
        options c:n:p:P:tu:hV 'class: classdata: pid: pgid: ignore uid: help version' "$@"
        if given c class; then
            case $value in [0-3] | none | realtime | best-effort | idle) ;; *) refuse "'$value' is no class" ;; esac
        fi
        if given n classdata; then
            case $value in [0-7]) ;; *) refuse "'$value' is no priority" ;; esac
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
    setsid)
        options cfwhV 'ctty fork wait help version' "$@"
        start ${rest[@]+"${rest[@]}"} ;;
    chrt)
        options bdfiorRT:P:D:ampvhV 'batch deadline fifo idle other rr reset-on-fork sched-runtime: sched-period: sched-deadline: all-tasks max pid verbose help version' "$@"
        set -- ${rest[@]+"${rest[@]}"}
        case ${1-} in '' | *[!0-9]*) ;; *) shift ;; esac
        start "$@" ;;
    taskset)
        options apchV 'all-tasks pid cpu-list help version' "$@"
        set -- ${rest[@]+"${rest[@]}"}
        case ${1-} in '' | *[!0-9a-fA-Fx,:-]*) refuse "'${1-}' is no set of CPUs" ;; esac
        shift
        start "$@" ;;
    prlimit)
        options _p:o: 'pid: output:' "$@"
        start ${rest[@]+"${rest[@]}"} ;;
    nohup | chronic | unbuffer | rlwrap | winpty | eatmydata | fakeroot | dbus-run-session | dbus-launch | xvfb-run | \
        torsocks | proxychains | proxychains4 | lima)
        options _ 'server-args: server-num: error-file: auth-file:' "$@"
        start ${rest[@]+"${rest[@]}"} ;;
    command)
        options pvV '' "$@"
        if given v V; then type -P -- ${rest[@]+"${rest[@]}"}; exit; fi
        start ${rest[@]+"${rest[@]}"} ;;
    time | gtime)
        options avpqhVf:o: 'append verbose portability quiet format: output: help version' "$@"
        start ${rest[@]+"${rest[@]}"} ;;
    caffeinate)
        options dimsut:w: '' "$@"
        if [ ${#rest[@]} -eq 0 ]; then exec sleep 86400; fi # until somebody ends it
        start ${rest[@]+"${rest[@]}"} ;;
    arch)
        while [ $# -gt 0 ]; do
            case $1 in -e | -d) shift 2 || shift ;; -*) shift ;; *) break ;; esac
        done
        start "$@" ;;
    flock)
        options sxeunw:E:oc:FhV 'shared exclusive unlock nonblock nb timeout: wait: conflict-exit-code: close command: no-fork verbose help version' "$@"
        set -- ${rest[@]+"${rest[@]}"}
        if [ $# -eq 0 ]; then refuse "there is no file to lock"; fi
        shift
        if given c command; then code "$value"; fi
        case ${1-} in
            -c | --command) if [ $# -ne 2 ]; then refuse "$1 takes one word for the command"; fi; code "$2" ;;
        esac
        start "$@" ;;
    script)
        names=() values=()
        while [ $# -gt 0 ]; do
            options _I:O:B:T:t::m:c:E:o:F: 'log-in: log-out: log-io: log-timing: logging-format: command: echo: output-limit:' "$@"
            if given c command; then code "$value"; fi
            set -- ${rest[@]+"${rest[@]}"}
            if [ $# -gt 0 ]; then shift; fi # the file; macOS has the command behind it, Linux the options, too
            case ${1-} in -c | -*c | --command*) ;; --) shift; start "$@" ;; *) start "$@" ;; esac
        done ;;
    systemd-run | systemd-inhibit)
        options _hH:M:u:p:rdE:tPqGSC: 'host: machine: unit: property: description: slice: service-type: uid: gid: nice: working-directory: setenv: path-property: socket-property: on-active: on-boot: on-startup: on-unit-active: on-unit-inactive: on-calendar: timer-property: background: what: who: why: mode:' "$@"
        if [ "$me" = systemd-run ] && ! given scope P pipe t pty S shell; then
            refuse "without --scope or --pipe it starts a service, and nobody sees what that prints"
        fi
        start ${rest[@]+"${rest[@]}"} ;;
    firejail)
        options _ '' "$@"
        start ${rest[@]+"${rest[@]}"} ;;
    sandbox-exec)
        options f:n:p:D:t: '' "$@"
        start ${rest[@]+"${rest[@]}"} ;;
    bwrap)
        while [ $# -gt 0 ]; do
            case $1 in
                --) shift; break ;;
                --overlay) shift 4 || refuse "$1 lacks a value" ;;
                --*bind* | --symlink | --setenv | --chmod | --file) shift 3 || refuse "$1 lacks a value" ;;
                --unshare-* | --share-net | --new-session | --die-with-parent | --clearenv | --as-pid-1 | \
                    --disable-userns | --assert-userns-disabled) shift ;;
                -*) shift 2 || refuse "$1 has no value" ;;
                *) break ;;
            esac
        done
        start "$@" ;;
    direnv)
        if [ "${1-}" != exec ]; then exit 0; fi
        if [ $# -lt 3 ]; then refuse "exec takes a folder and a command"; fi
        shift 2
        start "$@" ;;
    devcontainer)
        if [ "${1-}" != exec ]; then exit 0; fi
        shift
        options _ 'workspace-folder: config: override-config: container-id: id-label: remote-env: docker-path: docker-compose-path: container-data-folder: log-level: user-data-folder: mount-workspace-git-root: default-user-env-probe: terminal-columns: terminal-rows:' "$@"
        start ${rest[@]+"${rest[@]}"} ;;
    kubectl | oc)
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
    vagrant)
        if [ "${1-}" != ssh ]; then exit 0; fi
        shift
        options c:pth 'command: plain tty no-tty help' "$@"
        set -- ${rest[@]+"${rest[@]}"}
        if ! given c command && [ -z "$ended" ] && [ $# -gt 1 ]; then # also behind the name of the machine
            name=$1
            shift
            options c:pth 'command: plain tty no-tty help' "$@"
            set -- "$name" ${rest[@]+"${rest[@]}"}
        fi
        if given c command; then
            if [ $# -gt 1 ]; then refuse "-c takes one word for the command: '$2' is too many"; fi
            elsewhere "$value"
        fi
        if [ $# -gt 0 ] && [ "${1-}" != -- ]; then shift; fi
        if [ "${1-}" = -- ]; then shift; fi
        elsewhere "$@" ;;
    limactl)
        if [ "${1-}" != shell ]; then exit 0; fi
        shift
        options _ 'shell: workdir: log-level: tty:' "$@"
        set -- ${rest[@]+"${rest[@]}"}
        if [ $# -lt 2 ]; then exit 0; fi
        shift
        if [ "$1" = -- ]; then shift; fi
        start "$@" ;;
    wsl | wsl.exe)
        options _d:u:e 'distribution: user: cd: exec shell-type:' "$@"
        case " $* " in *' -e '* | *' --exec '*) start ${rest[@]+"${rest[@]}"} ;; esac
        elsewhere ${rest[@]+"${rest[@]}"} ;;
    orb | orbctl)
        options _m:u:w:p 'machine: user: workdir:' "$@"
        set -- ${rest[@]+"${rest[@]}"}
        if [ "${1-}" = run ]; then shift; options _m:u:w:p 'machine: user: workdir:' "$@"; fi
        start ${rest[@]+"${rest[@]}"} ;;
    tailscale | gh | colima)
        case " $* " in *' ssh '*) ;; *) exit 0 ;; esac
        while [ "$1" != ssh ]; do shift; done
        shift
        options _c:p:R: 'codespace: profile: repo: config:' "$@"
        set -- ${rest[@]+"${rest[@]}"}
        case $me in tailscale) if [ $# -gt 0 ]; then shift; fi ;; esac
        if [ "${1-}" = -- ]; then shift; fi
        elsewhere "$@" ;;
    gcloud)
        case " $* " in *' compute ssh '*) ;; *) exit 0 ;; esac
        while [ $# -gt 0 ]; do
            case $1 in --command) elsewhere "${2-}" ;; --command=*) elsewhere "${1#*=}" ;; --) shift; elsewhere "$@" ;; esac
            shift
        done ;;
    multipass | distrobox | toolbox | lxc | incus)
        case ${1-} in exec | enter | run) ;; *) exit 0 ;; esac
        case " $* " in *' -- '*) behind "$@" ;; esac
        shift
        options _d:c:n:w:e: 'working-directory: container: name: cwd: env: user: group:' "$@"
        set -- ${rest[@]+"${rest[@]}"}
        if [ "$me" != toolbox ] && [ $# -gt 0 ]; then shift; fi
        start "$@" ;;
    nix)
        case ${1-} in
            run)
                shift
                while [ $# -gt 0 ] && [ "${1:0:1}" = - ]; do
                    case $1 in --override-input | --option) shift 3 || shift ;; -f | --file | --expr | -I) shift 2 || shift ;; *) shift ;; esac
                done
                name=${1-.}
                name=${name##*[#:]}
                if [ $# -gt 0 ]; then shift; fi
                if [ "${1-}" = -- ]; then shift; elif [ $# -gt 0 ]; then refuse "run takes arguments behind --"; fi
                package "$name" "$@" ;;
            develop | shell)
                while [ $# -gt 0 ] && [ "$1" != -c ] && [ "$1" != --command ]; do shift; done
                if [ $# -lt 2 ]; then refuse "there is no -c with a command"; fi
                shift
                start "$@" ;;
        esac ;;
    nix-shell)
        while [ $# -gt 0 ]; do
            case $1 in --run | --command) if [ $# -gt 1 ]; then code "$2"; fi ;; esac
            shift
        done ;;
    mise | rtx)
        case ${1-} in exec | x) ;; *) exit 0 ;; esac
        while [ $# -gt 0 ]; do
            case $1 in
                --) shift; start "$@" ;;
                -c | --command) code "${2-}" ;;
                --command=*) code "${1#*=}" ;;
            esac
            shift
        done ;;
    op | doppler | infisical | dotenvx | aws-vault | chamber | devbox | dotenv | secretspec)
        last=''
        for each in "$@"; do
            case $last in --command) code "$each" ;; esac
            case $each in --command=*) code "${each#*=}" ;; --) behind "$@" ;; esac
            last=$each
        done
        while [ $# -gt 0 ]; do case $1 in run | -*) shift ;; exec) shift 2 || shift ;; *) break ;; esac; done
        start "$@" ;;
    poetry | pipenv | pdm | rye | hatch | conda | mamba | micromamba | bundle | asdf | pyenv | nodenv | volta | fnm)
        while [ $# -gt 0 ]; do
            case $1 in run | exec) break ;; -*) shift ;; *) exit 0 ;; esac
        done
        if [ $# -eq 0 ]; then exit 0; fi
        shift
        options _n:p: 'name: prefix: cwd: node: npm: yarn: using: directory: project:' "$@"
        start ${rest[@]+"${rest[@]}"} ;;
    npx)
        options p:c:w:ynqsdfg "$npm" "$@"
        if given c call; then code "$value"; fi
        package ${rest[@]+"${rest[@]}"} ;;
    bunx | pnpx)
        options _p: 'package:' "$@"
        package ${rest[@]+"${rest[@]}"} ;;
    uvx)
        options w:c:b:Vi:f:UP:C:np:qvh "$uv" "$@"
        package ${rest[@]+"${rest[@]}"} ;;
    pipx)
        if [ "${1-}" != run ]; then exit 0; fi
        shift
        options qvhi: 'help quiet verbose skip-maintenance global no-cache refresh no-path-check python-args: path pypackages with: spec: python: fetch-python: fetch-missing-python system-site-packages index-url: editable pip-args: cooldown: backend:' "$@"
        package ${rest[@]+"${rest[@]}"} ;;
    uv)
        case "${1-} ${2-}" in
            'tool run') shift 2; options w:c:b:Vi:f:UP:C:np:qvh "$uv" "$@" ;;
            'run '*)
                shift
                options _w:i:f:P:C:p:sm "$uv extra: group: no-group: only-group: package: env-file: with: gui-script script module no-sync frozen locked" "$@" ;;
            *) exit 0 ;;
        esac
        package ${rest[@]+"${rest[@]}"} ;;
    npm)
        case ${1-} in
            exec | x) ;;
            run | run-script) shift; options _ '' "$@"; package ${rest[@]+"${rest[@]}"} ;;
            *) exit 0 ;;
        esac
        shift
        words=()
        while [ $# -gt 0 ]; do # its own options may stand anywhere in front of --
            options p:c:w:ynqsdfg "$npm" "$@"
            if given c call; then code "$value"; fi
            set -- ${rest[@]+"${rest[@]}"}
            if [ -n "$ended" ]; then words+=("$@"); break; fi
            if [ $# -gt 0 ]; then words+=("$1"); shift; fi
        done
        package ${words[@]+"${words[@]}"} ;;
    pnpm | yarn | bun)
        case ${1-} in
            exec | x | dlx | run) shift ;;
            *) exit 0 ;;
        esac
        options _p:C: 'package: filter: dir:' "$@"
        package ${rest[@]+"${rest[@]}"} ;;
    git)
        case " $* " in
            *' push '* | *' fetch '* | *' pull '* | *' clone '* | *' ls-remote '* | *' submodule '*) exit 0 ;;
        esac
        PATH=$system exec git "$@" ;;
esac
exit 0
