#!/bin/sh
# Roles, bindings, and questions about them. Run `bin/orch up` first.
set -eu
export KUBECONFIG="${KUBECONFIG:-.orch/admin.kubeconfig}"
work=$(mktemp -d)
namespace=rbac-$$
trap 'kubectl delete namespace "$namespace" --wait=false; kubectl delete clusterrole lights --ignore-not-found; rm -rf "$work"' EXIT
kubectl create namespace "$namespace"

echo '--- ann may read ConfigMaps, change the one called lamp, and hand out roles'
kubectl -n "$namespace" create -f - <<'YAML'
apiVersion: rbac.authorization.orch.io/v1
kind: Role
metadata: { name: lamps }
rules:
  - { apiGroups: [''], resources: [configmaps], verbs: [get, list, watch] }
  - { apiGroups: [''], resources: [configmaps], verbs: [update, patch], resourceNames: [lamp] }
  - { apiGroups: [rbac.authorization.orch.io], resources: [roles, rolebindings], verbs: [create, get, list] }
---
apiVersion: rbac.authorization.orch.io/v1
kind: RoleBinding
metadata: { name: ann-lamps }
roleRef: { apiGroup: rbac.authorization.orch.io, kind: Role, name: lamps }
subjects: [{ apiGroup: rbac.authorization.orch.io, kind: User, name: ann }]
YAML

# What the server says about a question, with its reason.
may() {
  printf '{"spec":{"user":"%s","resourceAttributes":{"namespace":"%s","verb":"%s","resource":"%s","name":"%s"}}}' "$1" "$namespace" "$2" "$3" "$4" |
    kubectl create --raw /apis/authorization.orch.io/v1/subjectaccessreviews -f - | sed 's/.*"status"://'
}
echo '--- may she?'
may ann list configmaps '' | tee "$work/list"
echo
grep -q '"allowed":true' "$work/list"
may ann patch configmaps lamp | tee "$work/lamp"
echo
grep -q '"allowed":true' "$work/lamp"
may ann patch configmaps stove | tee "$work/stove"
echo
if grep -q '"allowed":true' "$work/stove"; then exit 1; fi

echo '--- all that she may do in the namespace; --as asks in her name, which an administrator may'
echo '{"spec":{"namespace":"'"$namespace"'"}}' |
  kubectl --as=ann create --raw /apis/authorization.orch.io/v1/selfsubjectrulesreviews -f - | sed 's/.*"status"://'
echo

echo '--- a refusal names who, what and where'
if kubectl -n "$namespace" --as=ann get secrets 2>"$work/refusal"; then exit 1; fi
cat "$work/refusal"
grep -q 'User "ann" cannot list resource "secrets" in API group "" in the namespace' "$work/refusal"

echo '--- nobody gives away what they do not hold'
role() {
  printf '{"apiVersion":"rbac.authorization.orch.io/v1","kind":"Role","metadata":{"name":"%s"},"rules":[{"apiGroups":[""],"resources":["%s"],"verbs":["get"]}]}' "$@" |
    kubectl -n "$namespace" --as=ann create -f -
}
role for-bob configmaps
if role too-much secrets 2>"$work/escalation"; then exit 1; fi
cat "$work/escalation"
grep -q 'attempting to grant RBAC permissions not currently held' "$work/escalation"

echo '--- a label adds rules to the role view, which everybody has who was given that one'
kubectl create -f - <<'YAML'
apiVersion: rbac.authorization.orch.io/v1
kind: ClusterRole
metadata:
  name: lights
  labels: { rbac.authorization.orch.io/aggregate-to-view: 'true' }
rules: [{ apiGroups: [lights.example], resources: ['*'], verbs: [get, list, watch] }]
YAML
for _ in 1 2 3 4 5 6 7 8 9 10; do
  if kubectl get clusterrole view -o yaml | grep lights.example; then exit 0; fi
  sleep 0.5
done
exit 1
