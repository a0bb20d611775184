import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusOf } from './hpack-status.ts';

const cases: readonly (readonly [what: string, hex: string, status: number])[] = [
  ['indexed', '88', 200],
  ['indexed, another', '8d', 404],
  ['after a table size update', '2088', 200],
  ['literal with Huffman code, without indexing', '08821003', 201],
  ['literal with incremental indexing (RFC 7541 appendix C.6.1)', '4882640258', 302],
  ['literal with digits of 6 bits', '0883680fff', 409],
  ['literal as text', '0803343239', 429],
  ['not a status', '82', 0],
  ['empty', '', 0],
];

for (const [what, hex, status] of cases) {
  test(`a status is read: ${what}`, () => assert.equal(statusOf(Buffer.from(hex, 'hex')), status));
}
