import { deleteOptions, preconditions } from '../../kinds/meta/delete-options.ts';
import { listOptions } from '../../kinds/meta/request-options.ts';
import { apiVersionOf } from '../../kinds/stored-as.ts';
import { type FieldError, invalid, notSupported } from '../../meta/field-error.ts';
import { badRequest } from '../../meta/status-error.ts';
import { decode } from '../../schema/decode.ts';
import { isRecord } from '../../schema/own-property.ts';
import type { Infer } from '../../schema/schema.ts';
import { queryOptions, refuseMisspelled, refuseMistaken } from '../query-options.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';
import { dryRunOfQuery, invalidOptions, validateDryRun } from './write-options.ts';

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

/** Parameter set D (spec section 4.1), from the body or the query. */
export interface DeleteOptions {
  /** Seconds; negative is the shortest one, as published. */
  readonly gracePeriodSeconds: number | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
  /** What becomes of the objects that it owns; absent: what its finalizers say, else `Background`. */
  readonly propagationPolicy: PropagationPolicy | undefined;
  /** Answer 202 where the object stays for now: the client asked for its dependents to go first, or along. */
  readonly acceptedWhileHeld: boolean;
  readonly dryRun: boolean;
  /** Remove the object even where it cannot be read (spec section 3.2). Never set without the gate. */
  readonly ignoreReadErrors: boolean;
  /** What the client gave, in the body or the query. */
  readonly sent: Readonly<Record<string, unknown>>;
}

/**
 * The options of a deletion. As published, those of the query count only where there is no body. `dryRun` counts in both
 * (spec section 4.6), and what the query asks to be kept is never overlooked: it is refused where the body is silent about it.
 */
export function parseDeleteOptions(
  request: VerbRequest,
  { dialect, unsafeDeletion }: Pick<RegistryParts, 'dialect' | 'unsafeDeletion'>,
): DeleteOptions {
  const metaGroup = dialect.group('meta');
  const query = optionsOfQuery(request);
  const body = request.body?.value;
  const sent =
    body === undefined || body === null ? query : besideQuery(decodeOptions(body, metaGroup), query, request);
  const { ignoreStoreReadErrorWithClusterBreakingPotential: ignoreReadErrors, ...others } = sent;
  return validated(unsafeDeletion && ignoreReadErrors === true ? sent : others, metaGroup);
}

/** The options in an object that has been decoded: those of an eviction. */
export const deleteOptionsOf = (value: unknown, metaGroup: string): DeleteOptions => {
  const { ignoreStoreReadErrorWithClusterBreakingPotential: _, ...sent } = decodeOptions(value, metaGroup);
  return validated(sent, metaGroup);
};

type SentOptions = Infer<typeof deleteOptions>;

/** Selects objects, of which those that it leaves out are to be kept; 1.36. */
const laterListOptions = ['shardSelector'];

/** `uid` and `resourceVersion` are preconditions, as published; of a collection the version is the list's (set DC). */
function optionsOfQuery({ info: { query, verb } }: VerbRequest): SentOptions {
  if (query.size === 0) return {};
  const ofCollection = verb === 'deletecollection';
  refuseMistaken({
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

/** What counts of a body and a query. */
function besideQuery(body: SentOptions, query: SentOptions, request: VerbRequest): SentOptions {
  const keeps = query.orphanDependents === true || query.propagationPolicy === 'Orphan';
  const saysPolicy = body.orphanDependents !== undefined || body.propagationPolicy !== undefined;
  if (keeps && !saysPolicy)
    throw overlooked(query.propagationPolicy === undefined ? 'orphanDependents' : 'propagationPolicy');
  const { uid, resourceVersion } = { ...query.preconditions, ...body.preconditions };
  if (uid !== body.preconditions?.uid) throw overlooked('uid');
  if (resourceVersion !== body.preconditions?.resourceVersion) throw overlooked('resourceVersion');
  for (const name of Object.keys(query)) {
    if (name !== 'dryRun') request.warn(`query parameter ${JSON.stringify(name)} is ignored: the request has a body`);
  }
  const dryRun = [...(body.dryRun ?? []), ...(query.dryRun ?? [])];
  return { ...body, ...(dryRun.length > 0 && { dryRun }) };
}

const overlooked = (name: string) =>
  badRequest(`query parameter ${name} does not count in a deletion with a body: say it in the body`);

/** Clients send DeleteOptions of `v1`, of the meta group, or of the group of what they delete; all have one form. */
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

/** The published validation of DeleteOptions, whichever way they came. */
function validated(sent: SentOptions, metaGroup: string): DeleteOptions {
  const { gracePeriodSeconds, orphanDependents, dryRun = [] } = sent;
  const errors = [...validatePropagation(sent), ...validateDryRun(dryRun), ...validateIgnoreReadErrors(sent)];
  if (errors.length > 0) throw invalidOptions(deleteOptions, metaGroup, errors);
  const propagationPolicy = policies.find((each) => each === sent.propagationPolicy) ?? fromOrphan(orphanDependents);
  return {
    gracePeriodSeconds: gracePeriodSeconds === undefined ? undefined : Number(gracePeriodSeconds),
    preconditions: sent.preconditions ?? {},
    propagationPolicy,
    acceptedWhileHeld: propagationPolicy === 'Foreground' || orphanDependents === false,
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
    errors.push(notSupported('propagationPolicy', policy, [...policies, 'nil']));
  }
  return errors;
}

const fromOrphan = (orphanDependents: boolean | undefined): PropagationPolicy | undefined =>
  orphanDependents === undefined ? undefined : orphanDependents ? 'Orphan' : 'Background';

const ignoreReadErrorsName = 'ignoreStoreReadErrorWithClusterBreakingPotential';

/** What cannot be combined with the option: nothing of it could be heeded for an object that cannot be read. */
const unheeded = ['dryRun', 'gracePeriodSeconds', 'orphanDependents', 'preconditions', 'propagationPolicy'] as const;

const validateIgnoreReadErrors = (sent: SentOptions): readonly FieldError[] =>
  sent[ignoreReadErrorsName] === true
    ? unheeded
        .filter((name) => sent[name] !== undefined)
        .map((name) => invalid(ignoreReadErrorsName, true, `cannot be set together with .${name}`))
    : [];

/** Spec section 3.2: only one object at a time is removed unread. */
export function refuseIgnoreReadErrors({ ignoreReadErrors }: DeleteOptions, metaGroup: string): void {
  if (!ignoreReadErrors) return;
  const detail = 'is not allowed with DELETECOLLECTION, try again after removing the option';
  throw invalidOptions(deleteOptions, metaGroup, [invalid(ignoreReadErrorsName, true, detail)]);
}
