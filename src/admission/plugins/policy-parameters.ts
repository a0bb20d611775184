import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../../base/caller.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { forbidden } from '../../meta/field-error.ts';
import { invalidObject } from '../../meta/status-error.ts';
import type { Decision } from '../../request/access.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { ResourceAttributes } from '../../request/authorization-attributes.ts';
import { groupMasters, type UserInfo } from '../../request/user-info.ts';
import type { AdmissionPlugin } from '../chain.ts';

/** What the plugin needs from the server. */
interface PolicyParametersOptions {
  /** Full name of the group of policies. */
  readonly group: string;
  readonly authorize: (attributes: ResourceAttributes, user: UserInfo, request: Caller) => Decision | Promise<Decision>;
  /** The served resources of a kind; empty if none. */
  readonly resourcesOf: (
    apiVersion: string,
    kind: string,
  ) => readonly { readonly resource: string }[] | Promise<readonly { readonly resource: string }[]>;
  readonly policy: (resource: PolicyResource, name: string) => ApiObject | undefined | Promise<ApiObject | undefined>;
}

export type PolicyResource = 'validatingadmissionpolicies' | 'mutatingadmissionpolicies';

const policies: ReadonlySet<string> = new Set<PolicyResource>([
  'validatingadmissionpolicies',
  'mutatingadmissionpolicies',
]);

/** The policies that bindings of a resource are to. */
const policiesOfBindings: ReadonlyMap<string, PolicyResource> = new Map([
  ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'],
  ['mutatingadmissionpolicybindings', 'mutatingadmissionpolicies'],
]);

type PolicyView = ApiObject & { readonly spec?: { readonly paramKind?: ParamKind } };
type BindingView = ApiObject & { readonly spec?: { readonly policyName?: string; readonly paramRef?: ParamRef } };

interface ParamKind {
  readonly apiVersion?: string;
  readonly kind?: string;
}

interface ParamRef {
  readonly name?: string;
  readonly namespace?: string;
}

/**
 * Policies read their parameters with the rights of the server, and show them in messages. So whoever writes a policy needs
 * `get` on all objects of its `paramKind`, and whoever writes a binding `get` on what its `paramRef` names (KEP-3488). As in
 * kube-apiserver, the refusal is an error of the object.
 */
export const policyParameters = (options: PolicyParametersOptions): AdmissionPlugin => ({
  name: 'PolicyParameters',
  sideEffects: 'none',
  concerns: ({ operation, info: { group, resource, subresource } }) =>
    (operation === 'create' || operation === 'update') &&
    group === options.group &&
    subresource === '' &&
    (policies.has(resource) || policiesOfBindings.has(resource)),
  validate(attributes) {
    if (attributes.user.groups.includes(groupMasters)) return;
    const policyResource = policiesOfBindings.get(attributes.info.resource);
    return policyResource === undefined
      ? checkPolicy(attributes, options)
      : checkBinding(attributes, options, policyResource);
  },
});

async function checkPolicy(attributes: AdmissionAttributes, options: PolicyParametersOptions): Promise<void> {
  const [kind, stored] = [attributes.object, attributes.old].map(
    (each) => (each as PolicyView | undefined)?.spec?.paramKind,
  );
  if (kind === undefined || isDeepStrictEqual(plain(kind), plain(stored))) return;
  const asked = { ...(await resourceOf(kind, options)), namespace: '*', name: '*' };
  if (await mayGet(asked, attributes, options)) return;
  const { kind: name = '', apiVersion = '' } = kind;
  const why = `must have "get" permission on all objects of the referenced paramKind (kind=${name}, apiVersion=${apiVersion})`;
  refuse(attributes, 'spec.paramKind', why);
}

async function checkBinding(
  attributes: AdmissionAttributes,
  options: PolicyParametersOptions,
  policyResource: PolicyResource,
): Promise<void> {
  const [spec, stored] = [attributes.object, attributes.old].map((each) => (each as BindingView | undefined)?.spec);
  const { policyName = '', paramRef } = spec ?? {};
  if (paramRef === undefined) return;
  if (policyName === stored?.policyName && isDeepStrictEqual(plain(paramRef), plain(stored.paramRef))) return;
  const policy = (await options.policy(policyResource, policyName)) as PolicyView | undefined;
  const asked = await resourceOf(policy?.spec?.paramKind, options);
  const { namespace = '', name = '' } = paramRef;
  if (await mayGet({ ...asked, namespace, name }, attributes, options)) return;
  refuse(attributes, 'spec.paramRef', 'does not have "get" permission on the object referenced by paramRef');
}

/** Objects as decoded have no prototype; as stored they have one. */
const plain = (value: object | undefined): unknown => value && JSON.parse(JSON.stringify(value));

type Asked = Pick<ResourceAttributes, 'group' | 'version' | 'resource'>;

/** What is not known stands for all: of a kind that is not served yet, the rights on every resource of its group are needed. */
async function resourceOf(kind: ParamKind | undefined, { resourcesOf }: PolicyParametersOptions): Promise<Asked> {
  if (!kind) return { group: '*', version: '*', resource: '*' };
  const { apiVersion = '', kind: name = '' } = kind;
  const slash = apiVersion.indexOf('/');
  const [served] = await resourcesOf(apiVersion, name);
  return {
    group: slash === -1 ? '' : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    resource: served?.resource ?? '*',
  };
}

async function mayGet(
  asked: Asked & Pick<ResourceAttributes, 'namespace' | 'name'>,
  attributes: AdmissionAttributes,
  { authorize }: PolicyParametersOptions,
): Promise<boolean> {
  const question = { type: 'resource', verb: 'get', subresource: '', ...asked } as const;
  const { verdict } = await authorize(question, attributes.user, attributes);
  return verdict === 'allow';
}

function refuse({ kind, name, user }: AdmissionAttributes, field: string, why: string): never {
  throw invalidObject(kind, name, [forbidden(field, `user ${shown(user)} ${why}`)]);
}

/** A user as published servers show one here. */
function shown({ username, uid, groups, extra }: UserInfo): string {
  const more = Object.keys(extra)
    .sort()
    .map((key) => `${key}:[${extra[key]?.join(' ')}]`);
  return `&{${username} ${uid} [${groups.join(' ')}] map[${more.join(' ')}]}`;
}
