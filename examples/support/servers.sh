# Sourced by examples that start servers of their own. They end, and their data goes, with the example.
orch=${ORCH:-$(dirname "$0")/../bin/orch}
work=$(mktemp -d)
servers=
trap 'kill $servers; wait; rm -rf "$work"' EXIT
umask 077

# start NAME FLAGS...: a server with its data in $work/NAME; returns when it is ready.
start() {
  name=$1
  shift
  "$orch" up --data-dir "$work/$name" --secure-port 0 "$@" >"$work/$name.log" 2>&1 &
  servers="$servers $!"
  for _ in $(seq 300); do
    if grep -q 'listens on' "$work/$name.log"; then return; fi
    sleep 0.1
  done
  cat "$work/$name.log"
  exit 1
}
at() {
  name=$1
  shift
  kubectl --kubeconfig "$work/$name/admin.kubeconfig" "$@"
}
