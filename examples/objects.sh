#!/bin/sh
# Objects: create, watch, patch, apply, delete. Run `bin/orch up` first.
set -eu
export KUBECONFIG="${KUBECONFIG:-.orch/admin.kubeconfig}"
work=$(mktemp -d)
namespace=objects-$$
kubectl create namespace "$namespace"
trap 'kubectl delete namespace "$namespace" --wait=false; rm -rf "$work"' EXIT

echo '--- a watch sees every change, in order'
list=/api/v1/namespaces/$namespace/configmaps
version=$(kubectl get --raw "$list" | sed 's/.*"metadata":{"resourceVersion":"\([0-9]*\)"},"items".*/\1/')
kubectl get --raw "$list?watch=true&timeoutSeconds=60&resourceVersion=$version&fieldSelector=metadata.name=greeting" \
  >"$work/events" &
watch=$!
kubectl -n "$namespace" create configmap greeting --from-literal=text=hello
kubectl -n "$namespace" patch configmap greeting --type=merge -p '{"data":{"text":"good morning"}}'

echo '--- server-side apply: each field has an owner'
apply() {
  printf '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"greeting"},"data":{"%s":"%s"}}' "$2" "$3" |
    kubectl -n "$namespace" apply --server-side --field-manager="$1" -f -
}
apply painter color blue
if apply printer color red 2>"$work/conflict"; then exit 1; fi
cat "$work/conflict"
grep -q 'conflict with "painter"' "$work/conflict"
apply printer size large

kubectl -n "$namespace" delete configmap greeting
echo '--- what the watch saw'
for _ in $(seq 100); do
  if [ "$(grep -c '"type"' "$work/events")" -eq 5 ]; then break; fi
  sleep 0.1
done
kill "$watch"
sed -E 's/^\{"type":"([A-Z]+)".*"resourceVersion":"([0-9]+)".*"data":(\{[^}]*\}).*/\1 \2 \3/' "$work/events"
[ "$(grep -c '"type"' "$work/events")" -eq 5 ]
