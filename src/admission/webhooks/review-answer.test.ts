import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { readAnswer, UnusableAnswer } from './review-answer.ts';
import type { ReviewVersion, WebhookType } from './webhook.ts';

const base64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64');
const add = base64([{ op: 'add', path: '/data/a', value: 'b' }]);

interface Sent {
  readonly review?: unknown;
  readonly response?: unknown;
  readonly text?: string;
}

function read(sent: Sent, type: WebhookType = 'admit', version: ReviewVersion = 'v1') {
  const review = { apiVersion: `admission.orch.io/${version}`, kind: 'AdmissionReview', response: sent.response };
  const text = sent.text ?? JSON.stringify('review' in sent ? sent.review : review);
  return readAnswer(Buffer.from(text), { dialect: orch, version, uid: 'u', type });
}

describe('an answer that cannot be used', () => {
  const rows: readonly (readonly [what: string, sent: Sent, type: WebhookType, why: RegExp])[] = [
    ['no JSON', { text: '<html>' }, 'admit', /^failed to call webhook: couldn't get version\/kind; json parse error: /],
    ['no object', { text: '[]' }, 'admit', /the answer is no object/],
    ['too deep', { text: `${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}` }, 'admit', /levels of nesting/],
    [
      'no response',
      { response: undefined },
      'admit',
      /^received invalid webhook response: webhook response was absent$/,
    ],
    ['no uid', { response: { allowed: true } }, 'admit', /expected response\.uid="u", got ""$/],
    ['another uid', { response: { uid: 'v', allowed: true } }, 'admit', /expected response\.uid="u", got "v"$/],
    [
      'another kind',
      { review: { apiVersion: 'admission.orch.io/v1', kind: 'Review', response: { uid: 'u' } } },
      'admit',
      /expected webhook response of admission\.orch\.io\/v1, Kind=AdmissionReview, got admission\.orch\.io\/v1, Kind=Review$/,
    ],
    [
      'another version',
      { review: { apiVersion: 'v1', kind: 'AdmissionReview', response: { uid: 'u' } } },
      'admit',
      /got \/v1, Kind=AdmissionReview$/,
    ],
    [
      'a patch without a type',
      { response: { uid: 'u', patch: add } },
      'admit',
      /response\.patch but not response\.patchType/,
    ],
    [
      'a type without a patch',
      { response: { uid: 'u', patchType: 'JSONPatch' } },
      'admit',
      /response\.patchType but not response\.patch/,
    ],
    [
      'an empty type',
      { response: { uid: 'u', patch: add, patchType: '' } },
      'admit',
      /invalid response\.patchType of ""/,
    ],
    [
      'a patch of a validating one',
      { response: { uid: 'u', patch: add } },
      'validating',
      /may not return response\.patch$/,
    ],
    [
      'a type of a validating one',
      { response: { uid: 'u', patchType: 'JSONPatch' } },
      'validating',
      /may not return response\.patchType$/,
    ],
  ];
  for (const [what, sent, type, why] of rows) {
    it(what, () => {
      assert.throws(
        () => read(sent, type),
        (error: Error) => error instanceof UnusableAnswer && why.test(error.message),
      );
    });
  }
});

describe('a field of a wrong type makes an answer unusable', () => {
  const samples = { string: 'x', number: 1, boolean: true, array: [], object: {} };
  const fields: Readonly<Record<string, keyof typeof samples>> = {
    response: 'object',
    'response.uid': 'string',
    'response.allowed': 'boolean',
    'response.patch': 'string',
    'response.patchType': 'string',
    'response.warnings': 'array',
    'response.warnings[0]': 'string',
    'response.auditAnnotations': 'object',
    'response.auditAnnotations.key': 'string',
    'response.status': 'object',
    'response.status.status': 'string',
    'response.status.message': 'string',
    'response.status.reason': 'string',
    'response.status.code': 'number',
    'response.status.details': 'object',
    'response.status.details.name': 'string',
    'response.status.details.group': 'string',
    'response.status.details.kind': 'string',
    'response.status.details.uid': 'string',
    'response.status.details.retryAfterSeconds': 'number',
    'response.status.details.causes': 'array',
    'response.status.details.causes[0]': 'object',
    'response.status.details.causes[0].reason': 'string',
    'response.status.details.causes[0].message': 'string',
    'response.status.details.causes[0].field': 'string',
    kind: 'string',
    apiVersion: 'string',
  };
  /** A review in which one field has a value. */
  function reviewWith(path: string, value: unknown): object {
    const steps = path.split(/[.[]/);
    const place = steps.reduceRight<unknown>((inner, step) => (step === '0]' ? [inner] : { [step]: inner }), value);
    const { response = {}, ...rest } = place as { readonly response?: unknown };
    const isFields = typeof response === 'object' && response !== null && !Array.isArray(response);
    const answer = isFields ? { uid: 'u', ...response } : response;
    return { apiVersion: 'admission.orch.io/v1', kind: 'AdmissionReview', ...rest, response: answer };
  }
  for (const [path, type] of Object.entries(fields)) {
    for (const [other, value] of Object.entries(samples)) {
      if (other === type) continue;
      for (const verdict of ['admit', 'validating'] as const) {
        it(`${path}: ${other}, ${verdict}`, () => {
          assert.throws(
            () => read({ review: reviewWith(path, value) }, verdict),
            (error: Error) =>
              error instanceof UnusableAnswer && error.message.startsWith(`failed to call webhook: ${path}: expected `),
          );
        });
      }
    }
    if (path !== 'response' && path !== 'kind' && path !== 'apiVersion' && path !== 'response.uid') {
      it(`${path}: null is as if it were not there`, () => {
        assert.equal(read({ review: reviewWith(path, null) }).allowed, false);
      });
    }
  }
  it('response.status.code: no int32', () => {
    for (const code of ['1e10', '400.5', '99999999999999999999']) {
      const text = `{"apiVersion":"admission.orch.io/v1","kind":"AdmissionReview","response":{"uid":"u","status":{"code":${code}}}}`;
      assert.throws(() => read({ text }), /response\.status\.code: expected integer/);
    }
  });
  it('response.patch: no base64', () => {
    const response = { uid: 'u', patch: '-', patchType: 'JSONPatch' };
    assert.throws(() => read({ response }), /response\.patch: expected base64 string, got string that is not base64/);
  });
});

describe('an answer', () => {
  it('refuses without a verdict', () => assert.equal(read({ response: { uid: 'u' } }).allowed, false));
  it('has a patch, which is not decoded', () => {
    const { patch } = read({ response: { uid: 'u', patch: add, patchType: 'Merge' } });
    assert.deepEqual([patch?.body.toString('base64'), patch?.type], [add, 'Merge']);
  });
  it('keeps of a status what it knows', () => {
    const status = {
      ...{ code: 418, message: 'no', reason: 'Teapot', status: 'Success', more: 1 },
      details: { name: 'x', causes: [{ field: 'a', more: 1 }], retryAfterSeconds: -1, extra: {} },
    };
    assert.deepEqual(read({ response: { uid: 'u', status } }).result, {
      ...{ code: 418, message: 'no', reason: 'Teapot' },
      details: { name: 'x', causes: [{ field: 'a' }] },
    });
  });
  it('keeps 100 warnings and annotations', () => {
    const auditAnnotations = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, n === 1 ? null : 'v']));
    const warnings = Array.from({ length: 101 }, (_, n) => `w${n}`);
    const answer = read({ response: { uid: 'u', warnings, auditAnnotations } });
    assert.equal(answer.warnings.length, 100);
    assert.equal(Object.keys(answer.auditAnnotations).length, 100);
    assert.equal(answer.auditAnnotations['k1'], '');
  });
  it('of v1beta1 need not repeat the uid, the kind and the type of the patch', () => {
    const { patch, allowed } = read({ review: { response: { allowed: true, patch: add } } }, 'admit', 'v1beta1');
    assert.equal(allowed, true);
    assert.equal(patch?.type, 'JSONPatch');
  });
  it('of v1beta1 may have a patch that a validating one does not apply', () => {
    assert.equal(read({ review: { response: { patch: add } } }, 'validating', 'v1beta1').patch, undefined);
  });
});
