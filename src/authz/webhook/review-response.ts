import { limits } from '../../base/limits.ts';
import { parseJson } from '../../codec/json.ts';
import { decode } from '../../schema/decode.ts';
import { isRecord } from '../../schema/own-property.ts';
import { bool, opt, string, struct } from '../../schema/schema.ts';
import type { Decision } from '../authorizer.ts';

const status = struct('api.authorization.v1.SubjectAccessReviewStatus', 'What may be done.', {
  allowed: opt(1, bool(), 'It may be done.'),
  denied: opt(4, bool(), 'It may not be done, whoever else allows it.'),
  reason: opt(2, string(), 'Why.'),
  evaluationError: opt(3, string(), 'What went wrong.'),
});

/**
 * Parses the response to a SubjectAccessReview, which must have the version of the request. Neither allowed nor denied means no
 * opinion; both is a denial (kube-apiserver: an error). Throws if the response is not usable: other kinds or versions, values
 * of the wrong type, and duplicate fields, which parsers could read differently. Unknown fields are ignored.
 */
export function readReviewResponse(body: Uint8Array, apiVersion: string): Decision {
  const { value, duplicates } = parseJson(body);
  if (!isRecord(value)) throw new Error('the answer is no object');
  requireField(value, 'kind', 'SubjectAccessReview');
  requireField(value, 'apiVersion', apiVersion);
  if (duplicates.length > 0) throw new Error(`the answer has the field ${duplicates[0]} twice`);
  const { value: read, errors } = decode(status, isRecord(value['status']) ? value['status'] : {});
  if (value['status'] !== undefined && !isRecord(value['status'])) throw new Error('the status is no object');
  const [error] = errors;
  if (error) throw new Error(`the answer is malformed: status.${error.path}: expected ${error.expected}`);
  return decisionOf(read);
}

/** An omitted field is assumed to have the requested value. */
function requireField(answer: Readonly<Record<string, unknown>>, field: string, expected: string): void {
  const value = answer[field];
  if (value === undefined || value === '' || value === expected) return;
  throw new Error(`the answer is malformed: ${field}: expected ${expected}`);
}

interface Status {
  readonly allowed?: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

function decisionOf({ allowed = false, denied = false, reason = '', evaluationError = '' }: Status): Decision {
  const said = {
    reason: shorten(reason),
    ...(evaluationError !== '' && { evaluationError: shorten(evaluationError) }),
  };
  if (allowed && denied) return { verdict: 'deny', ...said, evaluationError: contradiction };
  return { verdict: denied ? 'deny' : allowed ? 'allow' : 'noOpinion', ...said };
}

const contradiction = 'webhook subject access review returned both allow and deny response';

/** Responses are cached, so the length of their texts must be bounded. */
const shorten = (text: string): string =>
  text.length > limits.authorizationReasonLengthMax ? text.slice(0, limits.authorizationReasonLengthMax) : text;
