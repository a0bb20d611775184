#!/bin/sh
# A machine becomes a node: all that it is given is the address of the server and a bootstrap token.
set -eu
. "$(dirname "$0")/support/servers.sh"
start cluster --enable-bootstrap-token-auth
server=$(at cluster config view --minify -o 'jsonpath={.clusters[0].cluster.server}')

echo '--- the administrator makes a token that ends in an hour'
id=$(openssl rand -hex 3)
secret=$(openssl rand -hex 8)
at cluster create -f - <<END
apiVersion: v1
kind: Secret
metadata: { name: bootstrap-token-$id, namespace: orch-system }
type: bootstrap.orch.io/token
stringData:
  token-id: "$id"
  token-secret: "$secret"
  usage-bootstrap-authentication: 'true'
  usage-bootstrap-signing: 'true'
  auth-extra-groups: system:bootstrappers:default-node-token
  expiration: $(date -u -d '+1 hour' +%FT%TZ 2>/dev/null || date -u -v +1H +%FT%TZ)
END
token=$id.$secret
node=$work/node
mkdir "$node"

echo '--- the machine reads cluster-info from a server that it does not trust yet'
info() { # info KEY: a value of cluster-info, when it is there
  for _ in $(seq 100); do
    curl -sk "$server/api/v1/namespaces/orch-public/configmaps/cluster-info" >"$node/info"
    value=$(sed -n 's/^ *"'"$1"'": "\([^"]*\)".*/\1/p' "$node/info")
    if [ -n "$value" ]; then break; fi
    sleep 0.1
  done
  printf '%b' "$value"
}
info "jws-kubeconfig-$id" >"$node/signature"
info kubeconfig >"$node/cluster"
cat "$node/cluster"

echo '--- and verifies its signature: a detached JWS, whose key is the token'
url64() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
header=$(cut -d. -f1 "$node/signature")
expected=$(printf '%s.%s' "$header" "$(url64 <"$node/cluster")" | openssl dgst -sha256 -hmac "$token" -binary | url64)
test "$header..$expected" = "$(cat "$node/signature")"
sed -n 's/.*certificate-authority-data: //p' "$node/cluster" | openssl base64 -d -A >"$node/ca.crt"
openssl x509 -in "$node/ca.crt" -noout -subject -fingerprint -sha256

echo '--- it asks for a certificate, which is approved and issued'
server=$(sed -n 's/.*server: //p' "$node/cluster")
export KUBECONFIG="$node/kubeconfig"
kubectl config set-cluster c --server "$server" --certificate-authority "$node/ca.crt" --embed-certs
kubectl config set-credentials bootstrap --token "$token"
kubectl config set-context c --cluster c --user bootstrap
kubectl config use-context c
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /O=system:nodes/CN=system:node:n1 \
  -keyout "$node/node.key" -out "$node/node.csr"
kubectl create -f - <<END
apiVersion: certificates.orch.io/v1
kind: CertificateSigningRequest
metadata: { name: n1 }
spec:
  request: $(openssl base64 -A <"$node/node.csr")
  signerName: orch.io/apiserver-client-node-agent
  usages: [digital signature, client auth]
  expirationSeconds: 86400
END
certificate=
for _ in $(seq 100); do
  certificate=$(kubectl get certificatesigningrequests n1 -o 'jsonpath={.status.certificate}')
  if [ -n "$certificate" ]; then break; fi
  sleep 0.1
done
echo "$certificate" | openssl base64 -d -A >"$node/node.crt"
openssl verify -CAfile "$node/ca.crt" "$node/node.crt"
kubectl get certificatesigningrequests

echo '--- with which it is a node: this one, and no other'
kubectl config set-credentials node --client-certificate "$node/node.crt" --client-key "$node/node.key" --embed-certs
kubectl config set-context c --user node
register() { printf '{"apiVersion":"v1","kind":"Node","metadata":{"name":"%s"}}' "$1" | kubectl create -f -; }
register n1
if register n2 2>"$work/refused"; then exit 1; fi
cat "$work/refused"
kubectl get node n1

echo '--- the token has done its work'
at cluster --namespace orch-system delete secret "bootstrap-token-$id"
if kubectl --user bootstrap get certificatesigningrequests 2>"$work/refused"; then exit 1; fi
kubectl get node n1
