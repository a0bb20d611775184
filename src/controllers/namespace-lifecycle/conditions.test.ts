import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { conditionsAfter, type Findings, type NamespaceCondition } from './conditions.ts';

const nothing: Findings = {
  discoveryFailures: [],
  malformedGroups: [],
  deletionFailures: [],
  remaining: new Map(),
  finalizers: new Map(),
};
const start = Date.UTC(2026, 0, 1);
const later = start + 60_000;

const after = (findings: Partial<Findings>, before: readonly NamespaceCondition[] = [], nowMs = start) =>
  conditionsAfter(before, { ...nothing, ...findings }, nowMs);

it('no problems', () => {
  assert.deepEqual(
    after({})?.map(({ type, status, reason, lastTransitionTime }) => [type, status, reason, lastTransitionTime]),
    [
      ['NamespaceDeletionDiscoveryFailure', 'False', 'ResourcesDiscovered', '2026-01-01T00:00:00Z'],
      ['NamespaceDeletionGroupVersionParsingFailure', 'False', 'ParsedGroupVersions', '2026-01-01T00:00:00Z'],
      ['NamespaceDeletionContentFailure', 'False', 'ContentDeleted', '2026-01-01T00:00:00Z'],
      ['NamespaceContentRemaining', 'False', 'ContentRemoved', '2026-01-01T00:00:00Z'],
      ['NamespaceFinalizersRemaining', 'False', 'ContentHasNoFinalizers', '2026-01-01T00:00:00Z'],
    ],
  );
});

describe('problems, in a stable order', () => {
  for (const [findings, type, reason, message] of [
    [
      { discoveryFailures: ['b/v1: away', 'a/v1: away'] },
      'NamespaceDeletionDiscoveryFailure',
      'DiscoveryFailed',
      'Discovery failed for some groups, 2 failing: a/v1: away, b/v1: away',
    ],
    [
      { malformedGroups: ['unexpected GroupVersion string: a/b/c'] },
      'NamespaceDeletionGroupVersionParsingFailure',
      'GroupVersionParsingFailed',
      'unexpected GroupVersion string: a/b/c',
    ],
    [
      { deletionFailures: ['b', 'a'] },
      'NamespaceDeletionContentFailure',
      'ContentDeletionFailed',
      'Failed to delete all resource types, 2 remaining: a, b',
    ],
    [
      {
        remaining: new Map([
          ['pods.', 2],
          ['leases.coordination.orch.io', 1],
          ['secrets.', 0],
        ]),
      },
      'NamespaceContentRemaining',
      'SomeResourcesRemain',
      'Some resources are remaining: leases.coordination.orch.io has 1 resource instances, pods. has 2 resource instances',
    ],
    [
      { finalizers: new Map([['x/y', 3]]) },
      'NamespaceFinalizersRemaining',
      'SomeFinalizersRemain',
      'Some content in the namespace has finalizers remaining: x/y in 3 resource instances',
    ],
  ] as const) {
    it(type, () => {
      const found = after(findings);
      const bad = found?.filter(({ status }) => status === 'True');
      assert.deepEqual(bad, [{ type, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason, message }]);
    });
  }

  it('a message is bounded', () => {
    const [, , condition] = after({ deletionFailures: ['x'.repeat(100_000)] }) ?? [];
    assert.equal(condition?.message.length, 4_096);
  });
});

describe('between attempts', () => {
  const stuck = { remaining: new Map([['pods.', 2]]) };

  it('nothing is written if nothing changes', () => {
    assert.equal(after(stuck, after(stuck), later), undefined);
    assert.equal(after({}, after({}), later), undefined);
  });

  it('lastTransitionTime changes only with the status', () => {
    const timeAfter = (findings: Partial<Findings>): string | undefined =>
      after(findings, after(stuck), later)?.find(({ type }) => type === 'NamespaceContentRemaining')
        ?.lastTransitionTime;
    assert.equal(timeAfter({ remaining: new Map([['pods.', 1]]) }), '2026-01-01T00:00:00Z');
    assert.equal(timeAfter({}), '2026-01-01T00:01:00Z');
  });

  it("other controllers' conditions and the order are kept", () => {
    const mine: NamespaceCondition = { type: 'Mine', status: 'Unknown', reason: 'R', message: 'M' };
    const [old = mine] = after({}) ?? [];
    const found = after(stuck, [mine, old], later);
    assert.deepEqual(found?.slice(0, 2), [mine, old]);
    assert.equal(found?.length, 6);
  });
});
