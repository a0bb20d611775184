import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../kinds/core/pod/pod-schema.ts';
import { claimOwners } from './claim-owners.ts';
import { ordinalOf, statefulCounts, stepOf, surplusToDelete, toUpdate } from './numbered-pods.ts';

describe('numbers of pods', () => {
  for (const [pod, set, expected] of [
    ['web-0', 'web', 0],
    ['web-12', 'web', 12],
    ['web-1-0', 'web-1', 0],
    ['web-1-0', 'web', undefined],
    ['web', 'web', undefined],
    ['web-a', 'web', undefined],
    ['web-2147483648', 'web', undefined],
  ] as const) {
    it(pod, () => assert.equal(ordinalOf(pod, set), expected));
  }
});

/** Pods as words: the revision; then `+` if it is ready, `-` if it is going, `!` if it failed. `_` is none. */
const podOf = (word: string): Pod | undefined =>
  word === '_'
    ? undefined
    : {
        metadata: {
          labels: { revision: word.replace(/\W/g, '') },
          ...(word.includes('-') && { deletionTimestamp: new Date(0).toISOString() }),
        },
        status: {
          phase: word.includes('!') ? 'Failed' : 'Running',
          conditions: word.includes('+')
            ? [{ type: 'Ready', status: 'True', lastTransitionTime: new Date(0).toISOString() }]
            : [],
        },
      };
const podsOf = (text: string) => text.split(' ').filter(Boolean).map(podOf);
const revisionOf = ({ metadata }: Pod) => metadata?.labels?.['revision'];
const orderOf = (isOrdered: boolean, minReadySeconds = 0) => ({ isOrdered, minReadySeconds, nowMs: 10_000 });

describe('steps of wanted pods', () => {
  for (const [pod, ordered, parallel] of [
    ['_', 'create', 'create'],
    ['a!', 'delete', 'delete'],
    ['a!-', 'wait', 'wait'],
    ['a', 'wait', 'settle'],
    ['a+-', 'wait', 'settle'],
    ['a+', 'settle', 'settle'],
  ] as const) {
    it(pod, () =>
      assert.deepEqual(
        [true, false].map((isOrdered) => stepOf(podOf(pod), orderOf(isOrdered))),
        [ordered, parallel],
      ),
    );
  }
  it('one that has not been ready for long enough', () => assert.equal(stepOf(podOf('a+'), orderOf(true, 60)), 'wait'));
});

describe('pods that are too many, highest first', () => {
  for (const [pods, ordered, parallel] of [
    ['', '', ''],
    ['c+ b+', 'c', 'c b'],
    ['c+- b+', '', 'b'],
    ['c b+', 'c', 'c b'],
    ['c b', '', 'c b'],
  ] as const) {
    it(`"${pods}"`, () => {
      const all = podsOf(pods).filter((pod) => pod !== undefined);
      const deleted = (isOrdered: boolean): string =>
        surplusToDelete(all, orderOf(isOrdered)).map(revisionOf).join(' ');
      assert.deepEqual([deleted(true), deleted(false)], [ordered, parallel]);
    });
  }
});

describe('pods that are replaced', () => {
  for (const [pods, partition, maxUnavailable, expected] of [
    ['a+ a+ a+', 0, undefined, [2]],
    ['a+ a+ n', 0, undefined, []],
    ['a+ a+ n+', 0, undefined, [1]],
    ['a+ a+ a+-', 0, undefined, []],
    ['a+ a+ _', 0, undefined, []],
    ['a+ a+ n+', 2, undefined, []],
    ['a+ a+ a+', 5, undefined, []],
    ['n+ n+ n+', 0, undefined, []],
    ['a+ a a+', 0, undefined, [2]],
    ['a+ a+ a+', 0, 2, [2, 1]],
    ['a+ a+ n', 0, 2, [1]],
    ['a+ a+ a+', 2, 2, [2]],
    ['a+ n n', 0, 2, []],
  ] as const) {
    it(`${pods} from ${partition}, ${maxUnavailable ?? 'one'} at a time`, () => {
      const all = podsOf(pods);
      const found = toUpdate(all, { revision: 'n', revisionOf, partition, maxUnavailable });
      assert.deepEqual(
        found.map((pod) => all.indexOf(pod)),
        expected,
      );
    });
  }
});

it('counts, and the revision that becomes the current one', () => {
  const count = (pods: string, rollsTo: number | undefined) => {
    const counted = { order: orderOf(true), revisionOf, current: 'a', update: 'n', rollsTo };
    return Object.values(
      statefulCounts(
        podsOf(pods).filter((pod) => pod !== undefined),
        counted,
      ),
    ).slice(0, 6);
  };
  assert.deepEqual(count('a+ n+ n+-', 3), [3, 3, 3, 1, 1, 'a']);
  assert.deepEqual(count('n+ n+', 2), [2, 2, 2, 2, 2, 'n']);
  assert.deepEqual(count('n+ n+', undefined), [2, 2, 2, undefined, 2, 'a']);
  assert.deepEqual(count('n+ n', 2), [2, 1, 1, undefined, 2, 'a']);
});

describe('owners of claims', () => {
  const reference = (kind: string, name: string, uid: string, controller = true) => ({
    ...{ apiVersion: kind === 'Pod' ? 'v1' : 'apps/v1', kind, name, uid, controller, blockOwnerDeletion: true },
  });
  const [set, pod, other] = [
    reference('StatefulSet', 'web', 's'),
    reference('Pod', 'web-0', 'p'),
    reference('Thing', 'x', 'x'),
  ] as const;
  for (const [what, before, whenDeleted, whenScaled, isScaledDown, after, isConflicting = false] of [
    ['kept', [], 'Retain', 'Retain', false, undefined],
    ['kept from now on', [set], 'Retain', 'Retain', false, []],
    ['of the set', [], 'Delete', 'Retain', true, [set]],
    ['of the set already', [set], 'Delete', 'Retain', false, undefined],
    ['of the set, not as controller', [{ ...set, controller: false }], 'Delete', 'Retain', false, [set]],
    ['of the pod when it is too many', [], 'Retain', 'Delete', true, [pod]],
    ['of nobody while it is wanted', [pod], 'Retain', 'Delete', false, []],
    ['of the pod, no longer the set', [set], 'Delete', 'Delete', true, [pod]],
    ['of the set again', [pod], 'Delete', 'Delete', false, [set]],
    ['of a former set', [{ ...set, uid: 'former' }], 'Delete', 'Delete', false, undefined],
    ['of somebody else too', [set, other], 'Delete', 'Delete', false, [other], true],
    ['of somebody else', [other], 'Delete', 'Delete', false, undefined, true],
    ['of somebody else, kept', [other], 'Retain', 'Retain', false, undefined],
  ] as const) {
    it(what, () => {
      const owners = { set, pod, isScaledDown, whenDeleted, whenScaled };
      assert.deepEqual(claimOwners(before, owners), { references: after, isConflicting });
    });
  }
});
