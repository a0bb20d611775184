import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatTime } from '../../meta/time.ts';
import { makeCertificate } from '../../pki/certificate-fixture.ts';
import { dueOf } from './request-due.ts';

const start = Date.UTC(2026, 0, 1);
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const condition = (type: string, atMs: number | null) => ({
  ...{ type, status: 'True' },
  lastUpdateTime: atMs === null ? null : formatTime(atMs),
});
/** A certificate in base64 that ends then. */
const ending = (notAfter: number): string => {
  const made = makeCertificate({ notBefore: start - hourMs, notAfter });
  return Buffer.from(`a text before\n${made.cert}`).toString('base64');
};
const approved = (atMs: number | null = start + hourMs) => [condition('Approved', atMs)];

describe('a certificate request is due', () => {
  for (const [what, status, due] of [
    ['a day after its creation if nobody decides', {}, start + 24 * hourMs],
    ['the same with an empty list of conditions', { conditions: [] }, start + 24 * hourMs],
    ['an hour after it was denied', { conditions: [condition('Denied', start + hourMs)] }, start + 2 * hourMs],
    ['an hour after it has failed', { conditions: [condition('Failed', start + hourMs)] }, start + 2 * hourMs],
    [
      'an hour after it has failed, however long ago it was approved',
      { conditions: [...approved(start), condition('Failed', start + hourMs)] },
      start + 2 * hourMs,
    ],
    [
      'an hour after it was approved, once it is issued',
      { conditions: approved(), certificate: ending(start + 100 * hourMs) },
      start + 2 * hourMs,
    ],
    [
      'when its certificate ends',
      { conditions: approved(), certificate: ending(start + 90 * minuteMs) },
      start + 90 * minuteMs,
    ],
    [
      'when its certificate ends, where nobody knows when it was approved',
      { conditions: approved(null), certificate: ending(start + 90 * minuteMs) },
      start + 90 * minuteMs,
    ],
    [
      'an hour after it was approved, where its certificate cannot be read',
      { conditions: approved(), certificate: Buffer.from('x').toString('base64') },
      start + 2 * hourMs,
    ],
    ['never while it is approved and waits for its signer', { conditions: approved() }, Number.POSITIVE_INFINITY],
    ['never with conditions of others alone', { conditions: [condition('Mine', start)] }, Number.POSITIVE_INFINITY],
    ['never without a time', { conditions: [condition('Denied', null)] }, Number.POSITIVE_INFINITY],
  ] as const) {
    const metadata = { uid: 'u', resourceVersion: '1', creationTimestamp: formatTime(start) };
    const request = (more: object = {}) => ({
      apiVersion: 'v1',
      kind: 'x',
      metadata: { ...metadata, ...more },
      status,
    });
    it(what, () => assert.equal(dueOf(request()).atMs, due));
    it(`${what}; but not while it is being deleted`, () =>
      assert.equal(dueOf(request({ deletionTimestamp: formatTime(start) })).atMs, Number.POSITIVE_INFINITY));
  }
});
