import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { amountsOf, textsOf } from '../../kinds/quota/amounts.ts';
import { chargePendingMs, PendingCharges } from './pending-charges.ts';

type Texts = Readonly<Record<string, string>>;
type Step =
  | readonly [at: 'charge', revision: number, amounts: Texts]
  | readonly [at: 'object', revision: number, amounts: Texts, isCharged: boolean];

const pod = { pods: '1', cpu: '500m' };

describe('what is charged and was not seen', () => {
  const cases: Readonly<Record<string, readonly [steps: readonly Step[], pending: Texts]>> = {
    nothing: [[], {}],
    'a write under way': [[['charge', 1, pod]], pod],
    'a write that was seen': [
      [
        ['charge', 1, pod],
        ['object', 2, pod, true],
      ],
      {},
    ],
    'a write that was seen before its charge': [
      [
        ['object', 2, pod, false],
        ['charge', 1, pod],
      ],
      {},
    ],
    'an object that is older than the charge, and was never charged': [
      [
        ['object', 1, pod, false],
        ['charge', 2, pod],
      ],
      pod,
    ],
    'some of those that were charged together': [
      [
        ['charge', 1, { pods: '3', cpu: '900m' }],
        ['object', 2, { pods: '1', cpu: '300m' }, true],
      ],
      { pods: '2', cpu: '600m' },
    ],
    'one that was charged by several': [
      [
        ['charge', 1, { pods: '1' }],
        ['charge', 3, { pods: '1' }],
        ['object', 2, { pods: '1' }, true],
        ['object', 4, { pods: '1' }, true],
        ['object', 5, { pods: '1' }, false],
      ],
      {},
    ],
    'another name': [
      [
        ['charge', 1, { pods: '1' }],
        ['object', 2, { secrets: '1' }, false],
      ],
      { pods: '1' },
    ],
  };
  for (const [title, [steps, pending]] of Object.entries(cases)) {
    it(title, () => {
      const charges = new PendingCharges();
      for (const [at, revision, texts, isCharged] of steps) {
        if (at === 'charge') charges.charged(amountsOf(texts), revision, 0);
        else assert.equal(charges.arrived(amountsOf(texts), revision), isCharged);
      }
      assert.deepEqual(textsOf(charges.pending(chargePendingMs - 1)), pending);
      assert.deepEqual(textsOf(charges.pending(chargePendingMs)), {}, 'what did not come was not written');
    });
  }
});
