import { deleteOptions, preconditions } from '../../kinds/meta/delete-options.ts';
import { listOptions } from '../../kinds/meta/request-options.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import { type FieldError, invalid, notSupportedOf } from '../../meta/field-error.ts';
import { badRequest } from '../../meta/status-error.ts';
import { decode } from '../../schema/decode.ts';
import { isRecord } from '../../schema/own-property.ts';
import type { Infer } from '../../schema/schema.ts';
import { queryOptions, refuseMisspelled, refuseMistakenParameters } from '../query-options.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';
import { dryRunOfQuery, invalidOptions, validateDryRun } from './write-options.ts';

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

/** Parameter set D (spec section 4.1), from the body or the query. */
export interface DeleteOptions {
  /** Seconds; a negative value means 1 second, as in kube-apiserver. */
  readonly gracePeriodSeconds: number | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
  /** What to do with dependents. Undefined: as the object's finalizers say, else `Background`. */
  readonly propagationPolicy: PropagationPolicy | undefined;
  /**
   * Respond with 202 if the object still exists: the client asked by `orphanDependents` for its dependents to go as well.
   */
  readonly acceptedWhileHeld: boolean;
  readonly dryRun: boolean;
  /** Remove the object even if it cannot be read (spec section 3.2). Never set unless the feature gate is enabled. */
  readonly ignoreReadErrors: boolean;
  /** The options as the client sent them, from the body or the query. */
  readonly sent: Readonly<Record<string, unknown>>;
}

/**
 * Parses the options of a deletion. As in kube-apiserver, a body replaces the options of the query. `dryRun` counts in
 * both (spec section 4.6), and a query option that protects objects is never ignored if the body does not set it: `Orphan`
 * counts, and a precondition is rejected.
 */
export function parseDeleteOptions(
  request: VerbRequest,
  { dialect, unsafeDeletion }: Pick<RegistryParts, 'dialect' | 'unsafeDeletion'>,
): DeleteOptions {
  const metaGroup = dialect.group('meta');
  const query = optionsOfQuery(request);
  const body = request.body?.value;
  const sent = body === undefined || body === null ? query : combined(decodeOptions(body, metaGroup), query, request);
  const { ignoreStoreReadErrorWithClusterBreakingPotential: ignoreReadErrors, ...others } = sent;
  return validated(unsafeDeletion && ignoreReadErrors === true ? sent : others, metaGroup);
}

/** Parses DeleteOptions in a decoded object, such as an eviction. */
export const deleteOptionsOf = (value: unknown, metaGroup: string): DeleteOptions => {
  const { ignoreStoreReadErrorWithClusterBreakingPotential: _, ...sent } = decodeOptions(value, metaGroup);
  return validated(sent, metaGroup);
};

type SentOptions = Infer<typeof deleteOptions>;

/** Selects a part of the objects, and the others must not be deleted; added in Kubernetes 1.36. */
const laterListOptions = ['shardSelector'];

/**
 * `uid` and `resourceVersion` are preconditions, as in kube-apiserver; for a collection, resourceVersion is that of the
 * list (set DC).
 */
function optionsOfQuery({ info: { query, verb } }: VerbRequest): SentOptions {
  if (query.size === 0) return {};
  const ofCollection = verb === 'deletecollection';
  refuseMistakenParameters({
    query,
    options: [deleteOptions, preconditions, ...(ofCollection ? [listOptions] : [])],
    later: ofCollection ? laterListOptions : [],
  });
  const sent = queryOptions(deleteOptions, query);
  const { uid, resourceVersion } = queryOptions(preconditions, query);
  const conditions = {
    ...(uid !== undefined && uid !== '' && { uid }),
    ...(resourceVersion !== undefined && resourceVersion !== '' && !ofCollection && { resourceVersion }),
  };
  return {
    ...sent,
    ...(sent.dryRun && { dryRun: [...dryRunOfQuery(sent.dryRun)] }),
    ...(Object.keys(conditions).length > 0 && { preconditions: conditions }),
  };
}

/** Combines the options of a body and a query. */
function combined(body: SentOptions, query: SentOptions, request: VerbRequest): SentOptions {
  const keeps = query.orphanDependents === true || query.propagationPolicy === 'Orphan';
  const saysPolicy = body.orphanDependents !== undefined || body.propagationPolicy !== undefined;
  const policy = keeps && !saysPolicy ? ({ propagationPolicy: 'Orphan' } as const) : undefined;
  const { uid, resourceVersion } = { ...query.preconditions, ...body.preconditions };
  if (uid !== body.preconditions?.uid) throw ignoredOption('uid');
  if (resourceVersion !== body.preconditions?.resourceVersion) throw ignoredOption('resourceVersion');
  for (const name of Object.keys(query)) {
    const counts = name === 'dryRun' || (policy && (name === 'propagationPolicy' || name === 'orphanDependents'));
    if (!counts) request.warn(`query parameter ${JSON.stringify(name)} is ignored: the request has a body`);
  }
  const dryRun = [...(body.dryRun ?? []), ...(query.dryRun ?? [])];
  return { ...body, ...policy, ...(dryRun.length > 0 && { dryRun }) };
}

const ignoredOption = (name: string) =>
  badRequest(`query parameter ${name} does not count in a deletion with a body: say it in the body`);

/**
 * Clients send DeleteOptions as `v1`, in the meta group, or in the group of the deleted object; all have the same
 * fields.
 */
function decodeOptions(value: unknown, metaGroup: string): SentOptions {
  if (!isRecord(value)) throw badRequest('the body of a deletion must be an object of kind DeleteOptions');
  const { kind, apiVersion, ...fields } = value;
  if (kind !== undefined && kind !== '' && kind !== 'DeleteOptions') {
    throw badRequest(`the kind in the data (${JSON.stringify(kind)}) does not match the expected kind (DeleteOptions)`);
  }
  const known = ['', 'v1', apiVersionOf({ group: metaGroup, version: 'v1' })];
  if (
    apiVersion !== undefined &&
    !(typeof apiVersion === 'string' && (known.includes(apiVersion) || apiVersion.includes('/')))
  ) {
    throw badRequest(`the API version in the data (${JSON.stringify(apiVersion)}) does not have a kind DeleteOptions`);
  }
  const decoded = decode(deleteOptions, fields);
  const [first] = decoded.errors;
  if (first)
    throw badRequest(`DeleteOptions cannot be read: ${first.path}: expected ${first.expected}, got ${first.got}`);
  for (const path of decoded.unknown) {
    const within = path.startsWith('preconditions.') ? 'preconditions.' : '';
    refuseMisspelled(
      path.slice(within.length),
      [within === '' ? deleteOptions : preconditions],
      'field of DeleteOptions',
    );
  }
  return decoded.value;
}

/** Validates DeleteOptions as kube-apiserver does, from either source. */
function validated(sent: SentOptions, metaGroup: string): DeleteOptions {
  const { gracePeriodSeconds, orphanDependents, dryRun = [] } = sent;
  const errors = [...validatePropagation(sent), ...validateDryRun(dryRun), ...validateIgnoreReadErrors(sent)];
  if (errors.length > 0) throw invalidOptions(deleteOptions, metaGroup, errors);
  const propagationPolicy = policies.find((each) => each === sent.propagationPolicy) ?? fromOrphan(orphanDependents);
  return {
    gracePeriodSeconds: gracePeriodSeconds === undefined ? undefined : Number(gracePeriodSeconds),
    preconditions: sent.preconditions ?? {},
    propagationPolicy,
    acceptedWhileHeld: orphanDependents === false,
    dryRun: dryRun.length > 0,
    ignoreReadErrors: sent[ignoreReadErrorsName] === true,
    sent,
  };
}

const policies = ['Foreground', 'Background', 'Orphan'] as const satisfies readonly PropagationPolicy[];

function validatePropagation({ propagationPolicy: policy, orphanDependents }: SentOptions): readonly FieldError[] {
  if (policy === undefined) return [];
  const errors: FieldError[] = [];
  if (orphanDependents !== undefined) {
    errors.push(invalid('propagationPolicy', policy, 'orphanDependents and deletionPropagation cannot be both set'));
  }
  if (!policies.some((each) => each === policy)) {
    errors.push(notSupportedOf('propagationPolicy', policy, [...policies, 'nil']));
  }
  return errors;
}

const fromOrphan = (orphanDependents: boolean | undefined): PropagationPolicy | undefined =>
  orphanDependents === undefined ? undefined : orphanDependents ? 'Orphan' : 'Background';

const ignoreReadErrorsName = 'ignoreStoreReadErrorWithClusterBreakingPotential';

/** Options that cannot be combined with it, since none could be honored for an unreadable object. */
const incompatible = [
  'dryRun',
  'gracePeriodSeconds',
  'orphanDependents',
  'preconditions',
  'propagationPolicy',
] as const;

const validateIgnoreReadErrors = (sent: SentOptions): readonly FieldError[] =>
  sent[ignoreReadErrorsName] === true
    ? incompatible
        .filter((name) => sent[name] !== undefined)
        .map((name) => invalid(ignoreReadErrorsName, true, `cannot be set together with .${name}`))
    : [];

/** Spec section 3.2: unreadable objects are removed one at a time only. */
export function refuseIgnoreReadErrors({ ignoreReadErrors }: DeleteOptions, metaGroup: string): void {
  if (!ignoreReadErrors) return;
  const detail = 'is not allowed with DELETECOLLECTION, try again after removing the option';
  throw invalidOptions(deleteOptions, metaGroup, [invalid(ignoreReadErrorsName, true, detail)]);
}
