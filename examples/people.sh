#!/bin/sh
# A user with a client certificate: the common name is the user, each organization a group. Run `bin/orch up` first.
set -eu
export KUBECONFIG="${KUBECONFIG:-.orch/admin.kubeconfig}"
pki=$(dirname "$KUBECONFIG")/pki
work=$(mktemp -d)
trap 'kubectl delete rolebinding developers-edit --ignore-not-found; rm -rf "$work"' EXIT

echo '--- the authority of `up` signs a certificate for jane, a developer, for 90 days'
openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/jane.key" -subj /O=developers/CN=jane \
  -out "$work/jane.csr" 2>/dev/null
echo extendedKeyUsage=clientAuth >"$work/usage"
openssl x509 -req -in "$work/jane.csr" -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -days 90 -extfile "$work/usage" \
  -out "$work/jane.crt" 2>/dev/null

echo '--- her connection file'
kubectl config view --raw --minify >"$work/jane.kubeconfig"
kubectl --kubeconfig "$work/jane.kubeconfig" config set-credentials jane --embed-certs \
  --client-certificate="$work/jane.crt" --client-key="$work/jane.key"
kubectl --kubeconfig "$work/jane.kubeconfig" config set-context --current --user=jane
as_jane() { kubectl --kubeconfig "$work/jane.kubeconfig" "$@"; }

echo '--- who she is'
echo '{}' | as_jane create --raw /apis/authentication.orch.io/v1/selfsubjectreviews -f - | tee "$work/who"
echo
grep -q '"username":"jane","groups":\["developers"' "$work/who"

echo '--- she may do nothing yet'
if as_jane get configmaps 2>"$work/refusal"; then exit 1; fi
cat "$work/refusal"

echo '--- developers may edit what is in the namespace default'
kubectl create -f - <<'YAML'
apiVersion: rbac.authorization.orch.io/v1
kind: RoleBinding
metadata: { name: developers-edit, namespace: default }
roleRef: { apiGroup: rbac.authorization.orch.io, kind: ClusterRole, name: edit }
subjects: [{ apiGroup: rbac.authorization.orch.io, kind: Group, name: developers }]
YAML
as_jane create configmap of-jane
as_jane delete configmap of-jane
