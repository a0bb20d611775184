#!/bin/sh
# A policy with a parameter: tried with warnings first, then enforced, in one namespace. Run `bin/orch up` first.
set -eu
export KUBECONFIG="${KUBECONFIG:-.orch/admin.kubeconfig}"
work=$(mktemp -d)
namespace=policy-$$
policy=entries-$$
trap 'kubectl delete validatingadmissionpolicybinding,validatingadmissionpolicy "$policy" --ignore-not-found
  kubectl delete namespace "$namespace" --wait=false; rm -rf "$work"' EXIT
kubectl create namespace "$namespace"

echo '--- a policy says how many entries a ConfigMap may have; the number is a parameter, in a ConfigMap itself'
kubectl create -f - <<YAML
apiVersion: admissionregistration.orch.io/v1
kind: ValidatingAdmissionPolicy
metadata: { name: $policy }
spec:
  failurePolicy: Fail
  paramKind: { apiVersion: v1, kind: ConfigMap }
  matchConstraints:
    resourceRules:
      - { operations: [CREATE, UPDATE], apiGroups: [''], apiVersions: [v1], resources: [configmaps] }
  matchConditions:
    - { name: not-the-parameter, expression: "object.metadata.name != 'limits'" }
  variables:
    - { name: entries, expression: "has(object.data) ? object.data.size() : 0" }
  validations:
    - expression: variables.entries <= int(params.data.entries)
      messageExpression: "string(variables.entries) + ' entries are more than ' + params.data.entries"
YAML
kubectl -n "$namespace" create configmap limits --from-literal=entries=1

# A binding puts the policy into force: here, with these parameters, and with this consequence.
bind() {
  kubectl apply -f - <<YAML
apiVersion: admissionregistration.orch.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: { name: $policy }
spec:
  policyName: $policy
  validationActions: [$1]
  paramRef: { name: limits, namespace: $namespace, parameterNotFoundAction: Deny }
  matchResources: { namespaceSelector: { matchLabels: { orch.io/metadata.name: $namespace } } }
YAML
}
echo '--- Warn tells of what would be refused, and lets it pass'
bind Warn
kubectl -n "$namespace" create configmap first --from-literal=a=1 --from-literal=b=2 2>"$work/warning"
cat "$work/warning"
grep -q '^Warning: Validation failed.*2 entries are more than 1' "$work/warning"

echo '--- Deny refuses it'
bind Deny
many='-n '$namespace' create configmap second --from-literal=a=1 --from-literal=b=2'
if kubectl $many 2>"$work/refusal"; then exit 1; fi
cat "$work/refusal"
grep -q "denied request: 2 entries are more than 1" "$work/refusal"

echo '--- another parameter counts within a second; the policy stays as it is'
kubectl -n "$namespace" patch configmap limits --type=merge -p '{"data":{"entries":"2"}}'
for _ in $(seq 50); do
  if kubectl $many 2>"$work/refusal"; then exit; fi
  sleep 0.1
done
cat "$work/refusal"
exit 1
