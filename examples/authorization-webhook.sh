#!/bin/sh
# One server asks another what users may do: whatever answers SubjectAccessReviews can be asked. Starts both.
set -eu
. "$(dirname "$0")/support/servers.sh"

echo '--- central knows that auditors read everywhere'
start central
at central create -f - <<'YAML'
apiVersion: rbac.authorization.orch.io/v1
kind: ClusterRoleBinding
metadata: { name: auditors-view }
roleRef: { apiGroup: rbac.authorization.orch.io, kind: ClusterRole, name: view }
subjects: [{ apiGroup: rbac.authorization.orch.io, kind: Group, name: auditors }]
YAML
url=$(at central config view --minify -o jsonpath='{.clusters[0].cluster.server}')

echo '--- the connection file: cluster.server is the address that questions are sent to'
cat >"$work/central.kubeconfig" <<YAML
apiVersion: v1
kind: Config
current-context: central
contexts: [{ name: central, context: { cluster: central, user: branch } }]
clusters:
  - name: central
    cluster:
      server: $url/apis/authorization.orch.io/v1/subjectaccessreviews
      certificate-authority: $work/central/pki/ca.crt
users:
  - name: branch
    user:
      client-certificate: $work/central/pki/admin.crt
      client-key: $work/central/pki/admin.key
YAML

echo '--- branch asks its own roles first, then central, but never about the system namespace'
cat >"$work/authorization.yaml" <<YAML
apiVersion: apiserver.config.orch.io/v1
kind: AuthorizationConfiguration
authorizers:
  - type: Node
    name: node
  - type: RBAC
    name: rbac
  - type: Webhook
    name: central
    webhook:
      timeout: 3s
      authorizedTTL: 5m
      unauthorizedTTL: 30s
      subjectAccessReviewVersion: v1
      matchConditionSubjectAccessReviewVersion: v1
      failurePolicy: NoOpinion
      connectionInfo:
        type: KubeConfigFile
        kubeConfigFile: $work/central.kubeconfig
      matchConditions:
        - expression: has(request.resourceAttributes)
        - expression: request.resourceAttributes.namespace != 'orch-system'
YAML
start branch --authorization-config="$work/authorization.yaml"

auditor() { at branch --as=ann --as-group=auditors "$@"; }
auditor get configmaps
if auditor get configmaps --namespace=orch-system 2>"$work/refusal"; then exit 1; fi
cat "$work/refusal"
if auditor create configmap x 2>"$work/refusal"; then exit 1; fi
cat "$work/refusal"
echo '--- where it was decided'
printf '{"spec":{"user":"ann","groups":["auditors"],"resourceAttributes":{"namespace":"default","verb":"list","resource":"configmaps"}}}' |
  at branch create --raw /apis/authorization.orch.io/v1/subjectaccessreviews -f - | sed 's/.*"status"://'
echo
at branch get --raw /metrics | grep '^apiserver_authorization_decisions_total{type="Webhook"'
