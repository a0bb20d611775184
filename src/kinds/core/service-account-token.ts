import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type FieldError, invalid } from '../../meta/field-error.ts';
import { isPathSegment } from '../../meta/formats.ts';
import { badRequest, conflict, invalidObject, notFound } from '../../meta/status-error.ts';
import { formatTime } from '../../meta/time.ts';
import type { ObjectIdentity, TokenBinding } from '../authentication/token-grant.ts';
import { asTokenRequest, type BoundObjectReference, tokenRequestSchema } from '../authentication/token-request.ts';
import type { ActionSubresource, ActionTarget, AnswerContext, GroupVersionKind } from '../kind.ts';
import type { KindServices } from '../services.ts';
import { asPod } from './pod/pod-schema.ts';

/** Minimum lifetime: clients that renew a token after four fifths of its lifetime need some time left. */
const secondsMin = 600;
const secondsMax = 2 ** 32;

/** POST `serviceaccounts/{name}/token`: a token of the account (spec section 2.3). */
export function serviceAccountToken(dialect: Dialect): ActionSubresource {
  const kind = { group: dialect.group('authentication'), version: 'v1', kind: 'TokenRequest' } as const;
  return {
    type: 'action',
    name: 'token',
    body: { ...kind, schema: tokenRequestSchema },
    writesNothing: true,
    prepare: (body, target, context) => prepare({ body, target, context, kind }),
    validate: (body) => validate(Number(asTokenRequest(body).spec.expirationSeconds)),
    create: (body, target, context) => issue(body, target, context),
  };
}

interface Request {
  readonly body: ApiObject;
  readonly target: ActionTarget;
  readonly context: AnswerContext;
  readonly kind: GroupVersionKind;
}

async function prepare({ body, target, context, kind }: Request): Promise<void> {
  const { metadata } = body;
  if (metadata.name !== undefined && metadata.name !== target.name) {
    const why = 'must match the service account name if specified';
    throw invalidObject(kind, target.name, [invalid('metadata.name', metadata.name, why)]);
  }
  await target.read();
  const { spec } = asTokenRequest(body);
  if ((spec.audiences ?? []).length === 0) spec.audiences = [...context.services.apiAudiences];
  metadata.name = target.name;
  metadata.creationTimestamp = formatTime(context.now);
  delete body['status'];
}

function validate(expirationSeconds: number): FieldError[] {
  const refused = (why: string): FieldError[] => [invalid('spec.expirationSeconds', expirationSeconds, why)];
  if (expirationSeconds < secondsMin) return refused('may not specify a duration less than 10 minutes');
  if (expirationSeconds > secondsMax) return refused('may not specify a duration larger than 2^32 seconds');
  return [];
}

async function issue(body: ApiObject, target: ActionTarget, context: AnswerContext): Promise<ApiObject> {
  const { services } = context;
  const { spec } = asTokenRequest(body);
  const account = { namespace: target.namespace, ...identityOf(await target.read()) };
  const binding = spec.boundObjectRef && (await boundTo(spec.boundObjectRef, target, services));
  const { audiences } = spec;
  const { expirationSeconds, warning, ...lifetime } = services.tokenLifetime({
    expirationSeconds: Number(spec.expirationSeconds),
    audiences,
    boundToPod: binding?.kind === 'pod',
  });
  if (warning !== undefined) context.warn(warning);
  const { token, issuedAt } = await services.issueToken({
    account,
    audiences,
    ...lifetime,
    ...(binding && { binding }),
  });
  const expirationTimestamp = formatTime((issuedAt + expirationSeconds) * 1000);
  return { ...body, spec: { ...spec, expirationSeconds }, status: { token, expirationTimestamp } };
}

/** Resolves the bound object reference to the current object. */
async function boundTo(
  reference: BoundObjectReference,
  target: ActionTarget,
  services: KindServices,
): Promise<TokenBinding> {
  const { kind = '', apiVersion = '', name = '', uid = '' } = reference;
  const [group, version] = groupVersionOf(apiVersion);
  const binding = await bindingTo({ kind: group === '' ? kind : '', name }, target, services);
  if (!binding) throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
  if (uid !== '' && uid !== binding.uid) {
    const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group, resource: kind }, name, why);
  }
  return binding;
}

/** As in kube-apiserver, an invalid apiVersion counts as empty group and version. */
function groupVersionOf(apiVersion: string): readonly [group: string, version: string] {
  const [first = '', second, ...more] = apiVersion.split('/');
  if (more.length > 0) return ['', ''];
  return second === undefined ? ['', first] : [first, second];
}

/** Undefined for kinds that a token cannot be bound to. */
async function bindingTo(
  { kind, name }: { readonly kind: string; readonly name: string },
  target: ActionTarget,
  services: KindServices,
): Promise<TokenBinding | undefined> {
  switch (kind) {
    case 'Pod':
      return bindingToPod(await found('pods', target.namespace, name, services), target, services);
    case 'Secret':
      return { kind: 'secret', ...identityOf(await found('secrets', target.namespace, name, services)) };
    case 'Node':
      return { kind: 'node', ...identityOf(await found('nodes', '', name, services)) };
    default:
      return undefined;
  }
}

async function found(resource: string, namespace: string, name: string, services: KindServices): Promise<ApiObject> {
  if (name === '') throw badRequest('spec.boundObjectRef.name: the name of the object is required');
  const problems = isPathSegment(name);
  if (problems.length > 0)
    throw badRequest(`spec.boundObjectRef.name: ${JSON.stringify(name)}: ${problems.join(', ')}`);
  const object = await services.object(resource, namespace, name);
  if (!object) throw notFound({ group: '', resource }, name);
  return object;
}

/** A pod-bound token also names the pod's node; by name only if the Node object does not exist. */
async function bindingToPod(pod: ApiObject, { name }: ActionTarget, services: KindServices): Promise<TokenBinding> {
  const { serviceAccountName, nodeName = '' } = asPod(pod).spec ?? {};
  if (serviceAccountName !== name) {
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(name)} to pod running with different serviceaccount name.`,
    );
  }
  const bound = { kind: 'pod', ...identityOf(pod) } as const;
  if (nodeName === '') return bound;
  const node = await services.object('nodes', '', nodeName);
  return { ...bound, node: node ? identityOf(node) : { name: nodeName } };
}

const identityOf = ({ metadata: { name = '', uid = '' } }: ApiObject): ObjectIdentity => ({ name, uid });
