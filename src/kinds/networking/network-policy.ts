import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, forbidden, invalid, invalidTexts, notSupportedOf, required } from '../../meta/field-error.ts';
import { isCidr } from '../../meta/formats.ts';
import { isStrictSubset } from '../../meta/ip-address.ts';
import { always, documentedEnum, enumInOrder, type Infer, int32, intOrString, list, opt, ptr, string, struct } from '../../schema/schema.ts';
import { ageColumn, column, nameColumn, none } from '../columns.ts';
import { failing, validatePort } from '../core/pod/validation/field-checks.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { labelSelector, labelSelectorText } from '../meta/label-selector.ts';
import { typed } from '../typed.ts';

const networkPolicyPort = struct('api.networking.v1.NetworkPolicyPort', 'Ports that traffic may go to.', {
  protocol: ptr(1, enumInOrder('TCP', 'UDP', 'SCTP'), 'Transport protocol.', { default: 'TCP' }),
  port: ptr(2, intOrString(), 'Number or name of the port; absent for all ports.'),
  endPort: ptr(3, int32(), 'Last port of a range that begins with `port`, which must be a number then.'),
});

const ipBlock = struct('api.networking.v1.IPBlock', 'A range of addresses with holes.', {
  cidr: always(1, string(), 'The range, such as `192.0.2.0/24` or `2001:db8::/64`.'),
  except: opt(2, list(string()), 'Ranges within it that do not count.'),
});

const networkPolicyPeer = struct('api.networking.v1.NetworkPolicyPeer', 'The other side of the traffic: pods by labels, or addresses.', {
  podSelector: ptr(1, labelSelector, 'Selects pods, in the namespace of the policy unless `namespaceSelector` says otherwise.'),
  namespaceSelector: ptr(2, labelSelector, 'Selects namespaces; all their pods unless there is a `podSelector`.'),
  ipBlock: ptr(3, ipBlock, 'Addresses. Alone only.'),
});

const ingressRule = struct('api.networking.v1.NetworkPolicyIngressRule', 'Traffic that may come in.', {
  ports: opt(1, list(networkPolicyPort), 'Ports that it may go to; none means all.'),
  from: opt(2, list(networkPolicyPeer), 'Where it may come from; none means anywhere.'),
});

const egressRule = struct('api.networking.v1.NetworkPolicyEgressRule', 'Traffic that may go out.', {
  ports: opt(1, list(networkPolicyPort), 'Ports that it may go to; none means all.'),
  to: opt(2, list(networkPolicyPeer), 'Where it may go; none means anywhere.'),
});

const networkPolicySpec = struct('api.networking.v1.NetworkPolicySpec', 'Which pods are isolated, and what may reach or leave them.', {
  podSelector: always(1, labelSelector, 'Selects the pods, in the namespace of the policy; an empty one selects all.', { documented: 'required' }),
  ingress: opt(2, list(ingressRule), 'What may come in, if pods are isolated from it.'),
  egress: opt(3, list(egressRule), 'What may go out, if pods are isolated from it.'),
  policyTypes: opt(4, list(documentedEnum('Egress', 'Ingress')), '`Ingress`, `Egress` or both: what pods are isolated from. Default: `Ingress`, and `Egress` if there are rules for it.'),
});

const schema = kindSchema('api.networking.v1.NetworkPolicy', 'What traffic a set of pods may have.', {
  spec: always(2, networkPolicySpec, 'The pods and their traffic.'),
});

type Spec = Infer<typeof networkPolicySpec>;
type Port = Infer<typeof networkPolicyPort>;
type Peer = Infer<typeof networkPolicyPeer>;

const specOf = (object: ApiObject): Spec => typed(schema, object).spec ?? {};

function setDefaults(object: ApiObject): void {
  const { spec } = typed(schema, object);
  if (!spec || (spec.policyTypes ?? []).length > 0) return;
  spec.policyTypes = (spec.egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'];
}

const policyTypes = ['Ingress', 'Egress'];

function validate(object: ApiObject): FieldError[] {
  const { ingress = [], egress = [], policyTypes: types = [] } = specOf(object);
  return [
    ...errorsOfEach(ingress, ({ ports = [], from = [] }, index) => ruleErrors({ ports, peers: from, name: 'from' }, `spec.ingress[${index}]`)),
    ...errorsOfEach(egress, ({ ports = [], to = [] }, index) => ruleErrors({ ports, peers: to, name: 'to' }, `spec.egress[${index}]`)),
    ...(types.length > policyTypes.length
      ? [invalidTexts('spec.policyTypes', types, 'may not specify more than two policyTypes', 'networking.PolicyType')]
      : errorsOfEach(types, (type, index) => (policyTypes.includes(type) ? [] : [notSupportedOf(`spec.policyTypes[${index}]`, type, policyTypes)]))),
  ];
}

interface Rule {
  readonly ports: readonly Port[];
  readonly peers: readonly Peer[];
  /** Name of the field of the peers. */
  readonly name: 'from' | 'to';
}

const ruleErrors = ({ ports, peers, name }: Rule, path: string): FieldError[] => [
  ...errorsOfEach(ports, (port, index) => portErrors(port, `${path}.ports[${index}]`)),
  ...errorsOfEach(peers, (peer, index) => peerErrors(peer, `${path}.${name}[${index}]`)),
];

function portErrors({ port, endPort }: Port, path: string): FieldError[] {
  const noRange = (why: string): FieldError[] => (endPort === undefined ? [] : [invalid(`${path}.endPort`, endPort, `may not be specified when \`port\` is ${why}`)]);
  if (port === undefined) return noRange('not specified');
  if (typeof port === 'string') return [...noRange('non-numeric'), ...validatePort(port, `${path}.port`)];
  const errors = validatePort(port, `${path}.port`);
  if (endPort === undefined) return errors;
  if (endPort < port) errors.push(invalid(`${path}.endPort`, port, 'must be greater than or equal to `port`'));
  return [...errors, ...validatePort(endPort, `${path}.endPort`)];
}

function peerErrors({ podSelector, namespaceSelector, ipBlock: block }: Peer, path: string): FieldError[] {
  const errors = block ? blockErrors(block, `${path}.ipBlock`) : [];
  const count = [podSelector, namespaceSelector, block].filter((each) => each !== undefined).length;
  if (count === 0) errors.push(required(path, 'must specify a peer'));
  else if (count > 1 && block) errors.push(forbidden(path, 'may not specify both ipBlock and another peer'));
  return errors;
}

function blockErrors({ cidr = '', except = [] }: Infer<typeof ipBlock>, path: string): FieldError[] {
  if (cidr === '') return [required(`${path}.cidr`)];
  const errors = failing(isCidr, `${path}.cidr`, cidr);
  if (errors.length > 0) return errors;
  return errorsOfEach(except, (each, index) => {
    const at = `${path}.except[${index}]`;
    const problems = failing(isCidr, at, each);
    return problems.length > 0 || isStrictSubset(each, cidr) ? problems : [invalid(at, each, 'must be a strict subset of `cidr`')];
  });
}

export const networkPolicy = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('networking'),
    kind: 'NetworkPolicy',
    resource: 'networkpolicies',
    shortNames: ['netpol'],
    schema,
    columns: [nameColumn, column('Pod-Selector', 'Selects the pods that the policy is for.', (object) => labelSelectorText(specOf(object).podSelector ?? {}) || none), ageColumn],
    strategy: { default: setDefaults, validateCreate: validate, validateUpdate: validate },
    generation: true,
  });
