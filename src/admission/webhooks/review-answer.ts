import { limits } from '../../base/limits.ts';
import { parseJson } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { StatusCause, StatusDetails } from '../../meta/status-error.ts';
import { parseJsonPatch } from '../../patch/json-patch.ts';
import { getOwn, isRecord } from '../../schema/own-property.ts';
import { reviewApiVersion } from './admission-review.ts';
import type { ReviewVersion, WebhookType } from './webhook.ts';

/** What a webhook answered (`AdmissionReview.response`, release 1.32). */
export interface ReviewAnswer {
  readonly allowed: boolean;
  /** The status of a refusal, as far as it was given. */
  readonly result: RefusalStatus;
  /** Undefined if there is nothing to change. */
  readonly patch:
    | { readonly document: readonly unknown[]; readonly operations: ReturnType<typeof parseJsonPatch> }
    | undefined;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

interface RefusalStatus {
  readonly code: number;
  readonly message: string;
  readonly reason: string;
  readonly details: StatusDetails | undefined;
}

/** What was asked. */
interface Asked {
  readonly dialect: Dialect;
  readonly version: ReviewVersion;
  readonly uid: string;
  readonly type: WebhookType;
}

/** An answer that cannot be used. The message is part of the error that clients get. */
export class UnusableAnswer extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UnusableAnswer';
  }
}

const invalid = (why: string, cause?: unknown): UnusableAnswer =>
  new UnusableAnswer(`received invalid webhook response: ${why}`, { cause });

/** Throws an UnusableAnswer with kube-apiserver's words. */
export function readAnswer(body: Buffer, asked: Asked): ReviewAnswer {
  const review = parseReview(body);
  const response = getOwn(review, 'response');
  if (!isRecord(response)) throw invalid('webhook response was absent');
  if (asked.version === 'v1') refuseOther(review, response, asked);
  const { code, message, reason, details } = readRecord(response, 'status');
  return {
    allowed: getOwn(response, 'allowed') === true,
    result: {
      code: typeof code === 'number' && Number.isInteger(code) ? code : 0,
      message: textOf(message),
      reason: textOf(reason),
      details: isRecord(details) ? detailsOf(details) : undefined,
    },
    patch: readPatch(response, asked),
    warnings: readTexts(response, 'warnings'),
    auditAnnotations: readAnnotations(response),
  };
}

function parseReview(body: Buffer): Readonly<Record<string, unknown>> {
  const unreadable = (why: string, cause?: unknown): UnusableAnswer =>
    new UnusableAnswer(`failed to call webhook: couldn't get version/kind; json parse error: ${why}`, { cause });
  try {
    const { value } = parseJson(body);
    if (isRecord(value)) return value;
  } catch (error) {
    throw unreadable((error as Error).message, error);
  }
  throw unreadable('the answer is no object');
}

function refuseOther(
  review: Readonly<Record<string, unknown>>,
  response: Readonly<Record<string, unknown>>,
  { dialect, version, uid }: Asked,
): void {
  const answered = getOwn(response, 'uid') ?? '';
  if (answered !== uid) throw invalid(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(answered)}`);
  const [kind, apiVersion] = [textOf(getOwn(review, 'kind')), textOf(getOwn(review, 'apiVersion'))];
  const wanted = reviewApiVersion(dialect, version);
  if (kind === 'AdmissionReview' && apiVersion === wanted) return;
  throw invalid(
    `expected webhook response of ${wanted}, Kind=AdmissionReview, got ${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`,
  );
}

function readPatch(response: Readonly<Record<string, unknown>>, { type, version }: Asked): ReviewAnswer['patch'] {
  const [patch, patchType] = [getOwn(response, 'patch') ?? '', getOwn(response, 'patchType') ?? undefined];
  if (typeof patch !== 'string') throw invalid('response.patch is not base64');
  if (type === 'validating') {
    if (version === 'v1' && patch !== '') throw invalid('validating webhook may not return response.patch');
    if (version === 'v1' && patchType !== undefined)
      throw invalid('validating webhook may not return response.patchType');
    return undefined;
  }
  if (version === 'v1') requireBoth(patch, patchType);
  if (patch === '') return undefined;
  if (version === 'v1' && patchType !== 'JSONPatch') {
    throw new UnusableAnswer(`unsupported patch type ${JSON.stringify(textOf(patchType))}`);
  }
  return decodePatch(patch);
}

function requireBoth(patch: string, patchType: unknown): void {
  if (patch !== '' && patchType === undefined) {
    throw invalid('webhook returned response.patch but not response.patchType');
  }
  if (patch === '' && patchType !== undefined) {
    throw invalid('webhook returned response.patchType but not response.patch');
  }
  if (patchType === '') throw invalid('webhook returned invalid response.patchType of ""');
}

function decodePatch(patch: string): ReviewAnswer['patch'] {
  try {
    const { value } = parseJson(Buffer.from(patch, 'base64'));
    const operations = parseJsonPatch(value);
    return operations.length === 0 ? undefined : { document: value as readonly unknown[], operations };
  } catch (error) {
    throw new UnusableAnswer(`received undecodable patch in webhook response: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function readTexts(response: Readonly<Record<string, unknown>>, field: string): readonly string[] {
  const listed = getOwn(response, field) ?? [];
  if (!Array.isArray(listed) || listed.some((each) => typeof each !== 'string')) {
    throw invalid(`response.${field} is not a list of texts`);
  }
  return listed.slice(0, limits.reviewListMax);
}

function readAnnotations(response: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const annotations = readRecord(response, 'auditAnnotations');
  const entries = Object.entries(annotations).slice(0, limits.reviewListMax);
  return Object.fromEntries(entries.map(([key, value]) => [key, textOf(value)]));
}

function readRecord(parent: Readonly<Record<string, unknown>>, field: string): Readonly<Record<string, unknown>> {
  const value = getOwn(parent, field);
  return isRecord(value) ? value : {};
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The known fields of details, of the right types. */
function detailsOf(sent: Readonly<Record<string, unknown>>): StatusDetails {
  const { retryAfterSeconds, causes } = sent;
  const details: Record<string, unknown> = {};
  for (const field of ['name', 'group', 'kind', 'uid']) {
    if (typeof sent[field] === 'string') details[field] = sent[field];
  }
  if (Array.isArray(causes)) details['causes'] = causes.filter(isRecord).slice(0, limits.reviewListMax).map(causeOf);
  if (typeof retryAfterSeconds === 'number' && Number.isInteger(retryAfterSeconds) && retryAfterSeconds > 0) {
    details['retryAfterSeconds'] = retryAfterSeconds;
  }
  return details;
}

function causeOf(sent: Readonly<Record<string, unknown>>): StatusCause {
  const known = ['reason', 'message', 'field'].filter((field) => typeof sent[field] === 'string');
  return Object.fromEntries(known.map((field) => [field, sent[field]]));
}
