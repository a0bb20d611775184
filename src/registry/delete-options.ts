import { deleteOptions } from '../kinds/meta/delete-options.ts';
import { badRequest } from '../meta/status-error.ts';
import { integerParameter } from '../request/request-info.ts';
import { decode } from '../schema/decode.ts';
import { apiVersionOf, isDryRun } from './decode-body.ts';
import type { VerbRequest } from './verb.ts';

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

/** Parameter set D (spec section 4.1): the body, with the query where there is none. */
export interface DeleteOptions {
  readonly gracePeriodSeconds: number | undefined;
  readonly preconditions: { readonly uid?: string; readonly resourceVersion?: string };
  /** What becomes of the objects that it owns; absent: what its finalizers say, else `Background`. */
  readonly propagationPolicy: PropagationPolicy | undefined;
  /** Answer 202 where the object stays for now: the client asked for its dependents to go first, or along. */
  readonly acceptedWhileHeld: boolean;
  readonly dryRun: boolean;
}

export function parseDeleteOptions({ body, info: { query } }: VerbRequest, metaGroup: string): DeleteOptions {
  const sent = body?.value === undefined || body.value === null ? {} : decodeOptions(body.value, metaGroup);
  const propagationPolicy = sent.propagationPolicy ?? (query.get('propagationPolicy') || undefined);
  checkPropagation(propagationPolicy, sent.orphanDependents);
  return {
    gracePeriodSeconds:
      sent.gracePeriodSeconds ?? integerParameter(query, 'gracePeriodSeconds', Number.MIN_SAFE_INTEGER),
    preconditions: sent.preconditions ?? {},
    propagationPolicy: (propagationPolicy as PropagationPolicy | undefined) ?? fromOrphan(sent.orphanDependents),
    acceptedWhileHeld: propagationPolicy === 'Foreground' || sent.orphanDependents === false,
    dryRun: isDryRun(query, sent.dryRun),
  };
}

interface SentOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly propagationPolicy?: string;
  readonly orphanDependents?: boolean;
  readonly dryRun?: readonly string[];
}

/** Clients send DeleteOptions of `v1`, of the meta group, or of the group of what they delete; all have one form. */
function decodeOptions(value: unknown, metaGroup: string): SentOptions {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest('the body of a deletion must be an object of kind DeleteOptions');
  }
  const { kind, apiVersion, ...fields } = value as Record<string, unknown>;
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
  return decoded.value as SentOptions;
}

function checkPropagation(policy: string | undefined, orphanDependents: boolean | undefined): void {
  if (policy !== undefined && orphanDependents !== undefined) {
    throw badRequest('orphanDependents and deletionPropagation cannot be both set');
  }
  if (policy !== undefined && policy !== 'Orphan' && policy !== 'Background' && policy !== 'Foreground') {
    throw badRequest(
      `invalid propagationPolicy ${JSON.stringify(policy)}: supported values: "Background", "Foreground", "Orphan"`,
    );
  }
}

const fromOrphan = (orphanDependents: boolean | undefined): PropagationPolicy | undefined =>
  orphanDependents === undefined ? undefined : orphanDependents ? 'Orphan' : 'Background';
