import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { packSubsets, type ReadyAddress, truncated } from './endpoint-subsets.ts';

const entry = (ip: string, numbers: readonly number[], isReady = true): ReadyAddress => ({
  ...{ address: { ip, targetRef: { uid: ip } }, isReady, portsKey: String(numbers) },
  ports: numbers.map((port) => ({ port, protocol: 'TCP' })),
});
const shown = (entries: readonly ReadyAddress[]): readonly string[] =>
  packSubsets(entries).map(
    ({ addresses = [], notReadyAddresses = [], ports = [] }) =>
      `${addresses.map(({ ip }) => ip)}|${notReadyAddresses.map(({ ip }) => ip)}|${ports.map(({ port }) => port)}`,
  );

describe('subsets of endpoints', () => {
  for (const [what, entries, expected] of [
    ['none', [], []],
    ['addresses in order', [entry('b', [80]), entry('a', [80])], ['a,b||80']],
    ['ready or not', [entry('a', [80]), entry('b', [80], false)], ['a|b|80']],
    ['several ports', [entry('a', [90, 80, 90]), entry('b', [90, 80, 90])], ['a,b||80,90']],
    ['different ports', [entry('a', [80]), entry('b', [81]), entry('c', [80])], ['a,c||80', 'b||81']],
    ['without ports', [entry('a', [])], ['a||']],
  ] as const) {
    it(what, () => {
      assert.deepEqual(shown(entries), expected);
      assert.deepEqual(shown([...entries].reverse()), expected);
    });
  }

  for (const [what, ready, notReady, most, left] of [
    ['few', 3, 2, 5, [3, 2]],
    ['those that are not ready first', 3, 4, 5, [3, 2]],
    ['ready ones too', 8, 4, 5, [5, 0]],
  ] as const) {
    it(`of too many: ${what}`, () => {
      const entries = [
        ...Array.from({ length: ready }, (_, index) => entry(`r${index}`, [80])),
        ...Array.from({ length: notReady }, (_, index) => entry(`n${index}`, [80], false)),
      ];
      const { subsets, isTruncated } = truncated(packSubsets(entries), most);
      const [{ addresses = [], notReadyAddresses = [] } = {}] = subsets;
      assert.deepEqual([addresses.length, notReadyAddresses.length], left);
      assert.equal(isTruncated, ready + notReady > most);
    });
  }
});
