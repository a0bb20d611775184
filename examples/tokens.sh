#!/bin/sh
# Tokens of service accounts. Run `bin/orch up` first.
set -eu
export KUBECONFIG="${KUBECONFIG:-.orch/admin.kubeconfig}"
work=$(mktemp -d)
account=tokens-$$
trap 'kubectl delete serviceaccount "$account" --ignore-not-found; rm -rf "$work"' EXIT
kubectl create serviceaccount "$account"

# A token with the given `spec` of a TokenRequest. With --dialect=kubernetes this is `kubectl create token`.
token() {
  printf '{"spec":%s}' "$1" |
    kubectl create --raw "/api/v1/namespaces/default/serviceaccounts/$account/token" -f - |
    sed 's/.*"token":"\([^"]*\)".*/\1/'
}
# Whose a token is, for others to ask who are shown one.
review() {
  printf '{"spec":{"token":"%s","audiences":[%s]}}' "$1" "$2" |
    kubectl create --raw /apis/authentication.orch.io/v1/tokenreviews -f - | sed 's/.*"status"://'
}

echo '--- for this server, for ten minutes'
own=$(token '{"expirationSeconds":600}')
kubectl config view --raw --minify >"$work/kubeconfig"
kubectl --kubeconfig "$work/kubeconfig" config set-credentials "$account" --token="$own"
kubectl --kubeconfig "$work/kubeconfig" config set-context --current --user="$account"
who() { echo '{}' | kubectl --kubeconfig "$work/kubeconfig" create --raw /apis/authentication.orch.io/v1/selfsubjectreviews -f -; }
who | tee "$work/who"
echo
grep -q "system:serviceaccount:default:$account" "$work/who"

echo '--- for a vault: good there, and of no use here'
vault=$(token '{"audiences":["vault"]}')
review "$vault" '"vault"' | tee "$work/vault"
echo
grep -q '"authenticated":true' "$work/vault"
review "$vault" '' | tee "$work/here"
echo
if grep -q '"authenticated":true' "$work/here"; then exit 1; fi

echo '--- bound to a Secret: it ends with that'
kubectl create secret generic "$account"
bound=$(token '{"boundObjectRef":{"apiVersion":"v1","kind":"Secret","name":"'"$account"'"}}')
kubectl delete secret "$account"
review "$bound" '' | tee "$work/bound"
echo
if grep -q '"authenticated":true' "$work/bound"; then exit 1; fi

echo '--- revoked with its account, at once'
kubectl delete serviceaccount "$account"
if who 2>"$work/revoked"; then exit 1; fi
cat "$work/revoked"
