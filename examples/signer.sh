#!/bin/sh
# A signer of one's own: it watches the requests that are made to it, checks them, and signs with an authority that the server
# does not know. The policy, the loop and the permissions are all there is to one.
set -eu
. "$(dirname "$0")/support/servers.sh"
start cluster --runtime-config=certificates.orch.io/v1alpha1
signer=example.com/vpn
requests=certificatesigningrequests

echo '--- what the signer may do: read requests, write their status, sign and publish for its own name'
at cluster create serviceaccount vpn-signer
at cluster create -f - <<END
apiVersion: rbac.authorization.orch.io/v1
kind: ClusterRole
metadata: { name: vpn-signer }
rules:
- { apiGroups: [certificates.orch.io], resources: [$requests], verbs: [get, list, watch] }
- { apiGroups: [certificates.orch.io], resources: [$requests/status], verbs: [get, patch] }
- { apiGroups: [certificates.orch.io], resources: [signers], resourceNames: [$signer], verbs: [sign, attest] }
- { apiGroups: [certificates.orch.io], resources: [clustertrustbundles], verbs: [create] }
---
apiVersion: rbac.authorization.orch.io/v1
kind: ClusterRoleBinding
metadata: { name: vpn-signer }
roleRef: { apiGroup: rbac.authorization.orch.io, kind: ClusterRole, name: vpn-signer }
subjects: [{ kind: ServiceAccount, name: vpn-signer, namespace: default }]
END
at cluster config view --raw --minify >"$work/signer.kubeconfig"
as_signer() { kubectl --kubeconfig "$work/signer.kubeconfig" "$@"; }
token=$(echo '{}' | at cluster create --raw /api/v1/namespaces/default/serviceaccounts/vpn-signer/token -f - |
  sed 's/.*"token":"\([^"]*\)".*/\1/')
as_signer config set-credentials signer --token="$token" >"$work/log"
as_signer config set-context --current --user=signer >>"$work/log"

echo '--- its authority, published for all who are to trust it'
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj /CN=vpn \
  -addext keyUsage=critical,keyCertSign -keyout "$work/vpn.key" -out "$work/vpn.crt" 2>>"$work/log"
as_signer create -f - <<END
apiVersion: certificates.orch.io/v1alpha1
kind: ClusterTrustBundle
metadata: { name: 'example.com:vpn:v1' }
spec:
  signerName: $signer
  trustBundle: |
$(sed 's/^/    /' "$work/vpn.crt")
END

# problem: what is wrong with the request in $work/csr; nothing if it may be signed.
problem() {
  if ! openssl req -in "$work/csr" -noout -verify 2>>"$work/log"; then echo 'its key has not signed it'; fi
  case $(openssl req -in "$work/csr" -noout -subject -nameopt RFC2253) in
  subject=CN=*,O=vpn) ;;
  *) echo 'the organization must be vpn' ;;
  esac
}

# decide NAME: signs the request, or says why not. Requested extensions are dropped: openssl copies none.
decide() {
  as_signer get "$requests" "$1" -o 'jsonpath={.spec.request}' | openssl base64 -d -A >"$work/csr"
  reason=$(problem | head -n 1)
  if [ -z "$reason" ]; then
    echo extendedKeyUsage=clientAuth >"$work/usage"
    openssl x509 -req -in "$work/csr" -CA "$work/vpn.crt" -CAkey "$work/vpn.key" -days 1 -extfile "$work/usage" \
      -out "$work/crt" 2>>"$work/log"
    as_signer patch "$requests" "$1" --subresource=status --type=merge \
      --patch '{"status":{"certificate":"'"$(openssl base64 -A <"$work/crt")"'"}}'
  else
    as_signer patch "$requests" "$1" --subresource=status --type=json --patch '[{"op":"add","path":"/status/conditions/-",
      "value":{"type":"Failed","status":"True","reason":"SignerValidationFailure","message":"'"$reason"'"}}]'
  fi
}

# Follows the requests of this signer. A watch ends now and then; what is open is seen again in the next one.
follow() {
  while sleep 0.1; do
    as_signer get "$requests" --watch --field-selector "spec.signerName=$signer" \
      -o 'jsonpath={.metadata.name} {.status.certificate}{.status.conditions[*].type}{"\n"}' |
      while read -r name state; do
        if [ "$state" = Approved ]; then decide "$name" || true; fi
      done
  done
}
follow >>"$work/log" 2>&1 &
servers="$servers $!"

# ask NAME SUBJECT [SIGNER]: makes a key and a request.
ask() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$2" -keyout "$work/$1.key" \
    -out "$work/$1.csr" 2>>"$work/log"
  at cluster create -f - <<END
apiVersion: certificates.orch.io/v1
kind: CertificateSigningRequest
metadata: { name: $1 }
spec:
  signerName: ${3:-$signer}
  usages: [digital signature, client auth]
  request: $(openssl base64 -A <"$work/$1.csr")
END
}
# approve NAME: with --dialect=kubernetes this is `kubectl certificate approve`.
approve() {
  printf '{"metadata":{"name":"%s"},"status":{"conditions":[{"type":"Approved","status":"True","reason":"Known"}]}}' "$1" |
    at cluster replace --raw "/apis/certificates.orch.io/v1/$requests/$1/approval" -f - >>"$work/log"
}

echo '--- jane asks, the administrator approves, the signer signs'
ask jane /O=vpn/CN=jane
approve jane
at cluster wait "$requests/jane" --for='jsonpath={.status.certificate}' --timeout=30s
at cluster get "$requests" jane -o 'jsonpath={.status.certificate}' | openssl base64 -d -A >"$work/jane.crt"
at cluster get clustertrustbundle example.com:vpn:v1 -o 'jsonpath={.spec.trustBundle}' >"$work/trusted.crt"
openssl verify -CAfile "$work/trusted.crt" "$work/jane.crt"

echo '--- what breaks its rules fails, approved or not'
ask mallory /O=system:masters/CN=mallory
approve mallory
at cluster wait "$requests/mallory" --for=condition=Failed --timeout=30s
at cluster get "$requests"

echo '--- it signs for no other signer'
ask other /O=vpn/CN=other example.com/other
if as_signer patch "$requests" other --subresource=status --type=merge \
  --patch '{"status":{"certificate":"'"$(openssl base64 -A <"$work/jane.crt")"'"}}' 2>"$work/refused"; then exit 1; fi
cat "$work/refused"
grep -q 'not permitted to sign requests with signerName "example.com/other"' "$work/refused"
