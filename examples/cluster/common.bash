# What measure, deploy, run and stop share: the hosts, ssh, and the folder with what they make.
#   hosts     lines of NAME KIND ADDRESS
#   work      a folder here: cluster.json, c.plan, the containers of the boards, arguments of deploy
#   folder    a folder on each board, below its home unless it begins with a slash
# shellcheck shell=bash
# shellcheck disable=SC2034  # whoever sources this uses them
set -euo pipefail
export LC_ALL=C.UTF-8

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
self=$(basename "$0")
hosts=$here/hosts
work=cluster-work
folder=sti-cluster
names=() # as they stand in the hosts
declare -A kinds=() addresses=()
# The words of a command, as a shell would split them: a variable holds no list.
read -ra ssh <<<"${STI_SSH:-ssh -o BatchMode=yes -o ServerAliveInterval=1 -o ServerAliveCountMax=3}"

say() { echo "$self: $*" >&2; }
fail() {
  say "$2"
  exit "$1"
}

# Prints the first comment of the script, which is its help.
help() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# OPTION VALUE: takes an option that all scripts have. Returns 1 if it is another.
take_common() {
  case "$1" in
    --hosts) hosts=$2 ;;
    --work) work=$2 ;;
    --folder) folder=$2 ;;
    *) return 1 ;;
  esac
}

# Says which option is unknown, or lacks its value, and ends.
refuse_option() { fail 2 "$1: no such option, or it lacks a value; see $self --help"; }

read_hosts() {
  local name kind address rest
  [ -r "$hosts" ] || fail 3 "$hosts: no such file"
  while read -r name kind address rest || [ -n "$name" ]; do
    case "$name" in '' | '#'*) continue ;; esac
    if [ -z "$address" ] || { [ -n "$rest" ] && [[ $rest != '#'* ]]; }; then
      fail 3 "$hosts: no line of NAME KIND ADDRESS: $name"
    fi
    [[ $name$kind =~ ^[A-Za-z0-9._-]+$ ]] || fail 3 "$hosts: a name may have letters, digits, . _ and -: $name"
    [ -z "${addresses[$name]:-}" ] || fail 3 "$hosts: $name stands there twice"
    names+=("$name")
    kinds[$name]=$kind
    addresses[$name]=$address
  done <"$hosts"
  [ ${#names[@]} -gt 0 ] || fail 3 "$hosts: no boards"
}

# BOARD COMMAND: runs one line of shell there; its stdin is the caller's.
on() { "${ssh[@]}" "${addresses[$1]}" "$2"; }

# BOARD FILE NAME: copies a file into the board's folder, so that a cut leaves the old one whole.
put() {
  local to
  to=$(printf %q "$folder/$3")
  on "$1" "mkdir -p $(printf %q "$folder") && cat >$to.new && mv $to.new $to" <"$2"
}

# BOARD SCRIPT ARGUMENT...: runs a script of this folder there.
run_there() {
  local board=$1 script=$2
  shift 2
  on "$board" "bash -s -- $(printf '%q ' "$@")" <"$here/$script"
}
