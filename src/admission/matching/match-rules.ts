import type { AdmissionAttributes, AdmissionOperation } from '../../request/admission.ts';

/** A rule of a webhook or a policy: which requests it is for. `*` stands for all. */
export interface MatchRule {
  /** In capitals: `CREATE`. */
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  /** `pods`, `pods/status`, `pods/*`, `*`, `*`/status; `*` alone has no subresources. */
  readonly resources?: readonly string[];
  /** Default: `*`. */
  readonly scope?: string;
  /** Names of objects; empty: all. Of policies only. */
  readonly resourceNames?: readonly string[];
}

/** What rules look at. */
export interface RuledRequest {
  readonly operation: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: 'Cluster' | 'Namespaced';
}

const operations: Readonly<Record<AdmissionOperation, string>> = {
  create: 'CREATE',
  update: 'UPDATE',
  delete: 'DELETE',
  connect: 'CONNECT',
};

/** The operation as rules and reviews name it. */
export const operationName = ({ operation }: Pick<AdmissionAttributes, 'operation'>): string => operations[operation];

/** A Namespace object is in no namespace, although its requests have one. */
export const isNamespace = ({ info }: Pick<AdmissionAttributes, 'info'>): boolean =>
  info.resource === 'namespaces' && info.group === '' && info.version === 'v1';

export const ruledRequest = (attributes: AdmissionAttributes): RuledRequest => {
  const { group, version, resource, subresource, namespace } = attributes.info;
  const scope = namespace === '' || isNamespace(attributes) ? 'Cluster' : 'Namespaced';
  return { operation: operationName(attributes), group, version, resource, subresource, scope };
};

/** Whether a rule is for a request, if it were for objects of any name. */
export const matchesRule = (rule: MatchRule, request: RuledRequest): boolean =>
  (rule.scope === undefined || rule.scope === '*' || rule.scope === request.scope) &&
  names(rule.operations, request.operation) &&
  names(rule.apiGroups, request.group) &&
  names(rule.apiVersions, request.version) &&
  (rule.resources ?? []).some((each) => namesResource(each, request));

/** Whether a rule is for an object of this name. */
export const matchesName = ({ resourceNames = [] }: MatchRule, name: string): boolean =>
  resourceNames.length === 0 || resourceNames.includes(name);

const names = (listed: readonly string[] = [], wanted: string): boolean =>
  listed.some((each) => each === '*' || each === wanted);

function namesResource(listed: string, { resource, subresource }: RuledRequest): boolean {
  const slash = listed.indexOf('/');
  const [main, sub] = slash < 0 ? [listed, ''] : [listed.slice(0, slash), listed.slice(slash + 1)];
  return (main === '*' || main === resource) && (sub === '*' || sub === subresource);
}
