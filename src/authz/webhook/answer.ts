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
 * What a webhook has decided by its answer, a SubjectAccessReview of the version that it was asked in. Neither allowed nor
 * denied is no opinion; both at once is a denial (published: an error). Throws where the answer is none: other kinds and
 * versions, values of the wrong type, and fields of the status that stand twice, which two readers could take for
 * different things. Fields that are not known are overlooked.
 */
export function readAnswer(body: Uint8Array, apiVersion: string): Decision {
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

/** What is left out is taken for what was asked for. */
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

/** Answers are kept: what a webhook says must not fill the memory. */
const shorten = (text: string): string =>
  text.length > limits.authorizationReasonLengthMax ? text.slice(0, limits.authorizationReasonLengthMax) : text;
