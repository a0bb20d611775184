import { limits } from '../../base/limits.ts';
import { parseJson } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { status } from '../../kinds/meta/status.ts';
import { typeMeta } from '../../kinds/meta/type-meta.ts';
import type { StatusDetails } from '../../meta/status-error.ts';
import { decode } from '../../schema/decode.ts';
import { isRecord } from '../../schema/own-property.ts';
import { bool, bytes, type Infer, list, map, opt, ptr, string, struct } from '../../schema/schema.ts';
import { reviewApiVersion } from './admission-review.ts';
import type { ReviewVersion, WebhookType } from './webhook.ts';

/** What a webhook answered (`AdmissionReview.response`, release 1.32). */
export interface ReviewAnswer {
  readonly allowed: boolean;
  /** The status of a refusal, as far as it was given. */
  readonly result: RefusalStatus;
  /** Not yet decoded: a mistake in it is no failure of the call. Undefined if there is none. */
  readonly patch: AnsweredPatch | undefined;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

interface AnsweredPatch {
  readonly body: Buffer;
  readonly type: string;
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
  /** As metrics report it: 400 if it is no review, 503 if it is one that says what it must not. */
  readonly code: 400 | 503;

  constructor(message: string, { code, ...options }: ErrorOptions & Pick<UnusableAnswer, 'code'>) {
    super(message, options);
    this.name = 'UnusableAnswer';
    this.code = code;
  }
}

const invalid = (why: string, cause?: unknown): UnusableAnswer =>
  new UnusableAnswer(`received invalid webhook response: ${why}`, { cause, code: 503 });

const admissionResponse = struct('api.admission.v1.AdmissionResponse', 'Answer of an admission webhook.', {
  uid: opt(1, string(), 'The uid of the request.'),
  allowed: opt(2, bool(), 'Whether the request may go on.'),
  status: ptr(3, status, 'Why it may not.'),
  patch: opt(4, bytes(), 'Changes of the object.'),
  patchType: ptr(5, string(), 'Format of the patch.'),
  auditAnnotations: opt(6, map(string()), 'What is added to the audit event.'),
  warnings: opt(7, list(string()), 'What the client is told.'),
});

const admissionReview = struct(
  'api.admission.v1.AdmissionReview',
  'A question to an admission webhook, or its answer.',
  {
    ...typeMeta,
    response: ptr(2, admissionResponse, 'The answer.'),
  },
);

type Review = Infer<typeof admissionReview>;
type Response = Infer<typeof admissionResponse>;

/** Throws an UnusableAnswer, with kube-apiserver's words but for types, which it names as Go does. */
export function readAnswer(body: Buffer, asked: Asked): ReviewAnswer {
  const review = decodeReview(parseReview(body));
  const { response } = review;
  if (!response) throw invalid('webhook response was absent');
  if (asked.version === 'v1') refuseOther(review, response, asked);
  const { allowed = false, warnings = [], auditAnnotations = {} } = response;
  const { code = 0, message = '', reason = '', details } = response.status ?? {};
  return {
    allowed,
    result: { code, message, reason, details: details && detailsOf(details) },
    patch: readPatch(response, asked),
    warnings: warnings.slice(0, limits.reviewListMax),
    auditAnnotations: Object.fromEntries(Object.entries(auditAnnotations).slice(0, limits.reviewListMax)),
  };
}

function parseReview(body: Buffer): Readonly<Record<string, unknown>> {
  const unreadable = (why: string, cause?: unknown): UnusableAnswer =>
    new UnusableAnswer(`failed to call webhook: couldn't get version/kind; json parse error: ${why}`, {
      ...{ cause, code: 400 },
    });
  try {
    const { value } = parseJson(body);
    if (isRecord(value)) return value;
  } catch (error) {
    throw unreadable((error as Error).message, error);
  }
  throw unreadable('the answer is no object');
}

/** A field of a wrong type makes the whole answer unusable, as in Go: `"allowed": "true"` allows nothing and refuses nothing. */
function decodeReview(sent: Readonly<Record<string, unknown>>): Review {
  const { value, errors } = decode(admissionReview, sent);
  const [mistake] = errors;
  if (!mistake) return value;
  throw new UnusableAnswer(
    `failed to call webhook: ${mistake.path}: expected ${mistake.expected}, got ${mistake.got}`,
    {
      code: 400,
    },
  );
}

function refuseOther(review: Review, response: Response, { dialect, version, uid }: Asked): void {
  const { kind = '', apiVersion = '' } = review;
  const { uid: answered = '' } = response;
  if (answered !== uid) throw invalid(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(answered)}`);
  const wanted = reviewApiVersion(dialect, version);
  if (kind === 'AdmissionReview' && apiVersion === wanted) return;
  throw invalid(
    `expected webhook response of ${wanted}, Kind=AdmissionReview, got ${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`,
  );
}

/** The only type of patch that there is; v1beta1 need not name it. */
export const jsonPatch = 'JSONPatch';

function readPatch({ patch = '', patchType }: Response, { type, version }: Asked): ReviewAnswer['patch'] {
  if (type === 'validating') {
    if (version === 'v1' && patch !== '') throw invalid('validating webhook may not return response.patch');
    if (version === 'v1' && patchType !== undefined)
      throw invalid('validating webhook may not return response.patchType');
    return undefined;
  }
  if (version === 'v1') requireBoth(patch, patchType);
  if (patch === '') return undefined;
  return { body: Buffer.from(patch, 'base64'), type: version === 'v1' ? (patchType ?? '') : jsonPatch };
}

function requireBoth(patch: string, patchType: string | undefined): void {
  if (patch !== '' && patchType === undefined) {
    throw invalid('webhook returned response.patch but not response.patchType');
  }
  if (patch === '' && patchType !== undefined) {
    throw invalid('webhook returned response.patchType but not response.patch');
  }
  if (patchType === '') throw invalid('webhook returned invalid response.patchType of ""');
}

/** What of the details of a refusal is passed on. */
const detailsOf = ({ causes, retryAfterSeconds = 0, ...rest }: StatusDetails): StatusDetails => ({
  ...rest,
  ...(causes && { causes: causes.slice(0, limits.reviewListMax) }),
  ...(retryAfterSeconds > 0 && { retryAfterSeconds }),
});
