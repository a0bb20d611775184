import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { ManualClock, systemClock } from '../../../base/time/clock.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { warningsOfExistingPods } from './existing-pods.ts';

interface Written {
  readonly name: string;
  readonly bad?: 'network' | 'pid';
  readonly controller?: string;
  readonly runtimeClassName?: string;
}

const pod = ({ name, bad, controller, runtimeClassName }: Written): ApiObject =>
  ({
    metadata: { name, ...(controller && { ownerReferences: [{ uid: controller, controller: true }] }) },
    spec: {
      runtimeClassName,
      ...(bad === 'network' && { hostNetwork: true }),
      ...(bad === 'pid' && { hostPID: true }),
    },
  }) as unknown as ApiObject;

const question = {
  namespace: 'n',
  enforce: { level: 'baseline', version: 'v1.30' },
  exemptRuntimeClasses: ['vm'],
  domain: 'orch.io',
} as const;

const title = 'existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:v1.30"';
const bounds = (checked: number, total: number) =>
  `new PodSecurity enforce level only checked against the first ${checked} of ${total} existing pods`;

describe('warnings about existing pods', () => {
  const many = (count: number): readonly Written[] => Array.from({ length: count }, (_, at) => ({ name: `p${at}` }));
  const replicas = many(limits.podSecurityPodsMax).map((each) => ({ ...each, controller: 'c' }));
  const cases: Readonly<Record<string, readonly [pods: readonly Written[], warnings: readonly string[]]>> = {
    'no pods': [[], []],
    'pods that comply': [[{ name: 'a' }], []],
    'one pod': [[{ name: 'a', bad: 'network' }], [title, 'a: host namespaces']],
    'two pods': [
      [
        { name: 'b', bad: 'network' },
        { name: 'a', bad: 'pid' },
      ],
      [title, 'a (and 1 other pod): host namespaces'],
    ],
    'three pods': [
      ['b', 'a', 'c'].map((name) => ({ name, bad: 'network' as const })),
      [title, 'a (and 2 other pods): host namespaces'],
    ],
    'exempt pods': [[{ name: 'a', bad: 'network', runtimeClassName: 'vm' }], []],
    'as many as are looked at': [many(limits.podSecurityPodsMax), []],
    'more than that': [
      many(limits.podSecurityPodsMax + 7),
      [bounds(limits.podSecurityPodsMax, limits.podSecurityPodsMax + 7)],
    ],
    'the first pod of a controller comes before the rest of another': [
      [...replicas, { name: 'z', bad: 'network', controller: 'd' }],
      [bounds(limits.podSecurityPodsMax, limits.podSecurityPodsMax + 1), title, 'z: host namespaces'],
    ],
  };
  for (const [name, [pods, warnings]] of Object.entries(cases)) {
    it(name, async () => {
      const read = pods.map((each) => () => pod(each));
      assert.deepEqual(await warningsOfExistingPods(question, read, systemClock), warnings);
    });
  }

  it('ends after a second', async () => {
    const clock = new ManualClock();
    const read = ['a', 'b', 'c'].map((name) => () => {
      clock.advance(limits.podSecurityMsMax / 2);
      return pod({ name });
    });
    assert.deepEqual(await warningsOfExistingPods(question, read, clock), [bounds(2, 3)]);
  });
});
