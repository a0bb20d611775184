#!/bin/sh
# One server lets in the service accounts of another: it trusts that one as an OpenID Connect provider. Starts both.
set -eu
. "$(dirname "$0")/support/servers.sh"

echo '--- the issuer signs tokens in its own name, and lets everybody read its public keys'
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/issuer.key"
start issuer --service-account-issuer=https://issuer.example --service-account-signing-key-file="$work/issuer.key"
at issuer create -f - <<'YAML'
apiVersion: rbac.authorization.orch.io/v1
kind: ClusterRoleBinding
metadata: { name: keys-for-everybody }
roleRef: { apiGroup: rbac.authorization.orch.io, kind: ClusterRole, name: 'system:service-account-issuer-discovery' }
subjects: [{ apiGroup: rbac.authorization.orch.io, kind: Group, name: 'system:unauthenticated' }]
YAML
url=$(at issuer config view --minify -o jsonpath='{.clusters[0].cluster.server}')

echo '--- the other server trusts it'
cat >"$work/authentication.yaml" <<YAML
apiVersion: apiserver.config.orch.io/v1beta1
kind: AuthenticationConfiguration
jwt:
  - issuer:
      url: https://issuer.example
      discoveryURL: $url/.well-known/openid-configuration # without it: url and the same path
      audiences: [relying]
      certificateAuthority: |
$(sed 's/^/        /' "$work/issuer/pki/ca.crt")
    claimValidationRules:
      - expression: claims.exp - claims.iat <= 3600
        message: tokens may live for an hour at most
    claimMappings:
      username:
        expression: '"issuer:" + claims.sub'
      groups:
        expression: '["issuer:" + claims["orch.io"].namespace]'
    userValidationRules:
      - expression: '!user.username.startsWith("system:")'
        message: nobody from elsewhere is part of the system
YAML
start relying --authentication-config="$work/authentication.yaml"

echo '--- a token of the issuer, for an hour, and one for longer'
at issuer create serviceaccount robot
token() {
  printf '{"spec":{"audiences":["relying"],"expirationSeconds":%s}}' "$1" |
    at issuer create --raw /api/v1/namespaces/default/serviceaccounts/robot/token -f - |
    sed 's/.*"token":"\([^"]*\)".*/\1/'
}
at relying config view --raw --minify >"$work/robot.kubeconfig"
who() {
  kubectl --kubeconfig "$work/robot.kubeconfig" config set-credentials robot --token="$1" >/dev/null
  kubectl --kubeconfig "$work/robot.kubeconfig" config set-context --current --user=robot >/dev/null
  echo '{}' | kubectl --kubeconfig "$work/robot.kubeconfig" create --raw /apis/authentication.orch.io/v1/selfsubjectreviews -f -
}
good=$(token 3600)
# The keys of the issuer are fetched in the background.
for _ in $(seq 50); do
  if who "$good" >"$work/who" 2>/dev/null; then break; fi
  sleep 0.1
done
cat "$work/who"
echo
grep -q '"username":"issuer:system:serviceaccount:default:robot","groups":\["issuer:default"' "$work/who"
if who "$(token 7200)" 2>"$work/refusal"; then exit 1; fi
cat "$work/refusal"
