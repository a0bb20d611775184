import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { asPod, type Pod } from '../../../kinds/core/pod/pod-schema.ts';
import { TriggerTimes } from './trigger-times.ts';

const at = (seconds: number): string => `2019-01-01T00:00:0${seconds}Z`;
const service = (created: number) => ({
  ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 's', namespace: 'n', creationTimestamp: at(created) } },
});
const pod = (name: string, changed?: number): Pod =>
  asPod({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
    status: {
      conditions: changed === undefined ? [] : [{ type: 'Ready', status: 'True', lastTransitionTime: at(changed) }],
    },
  });

type Look = readonly [created: number, pods: readonly Pod[], expected: number | undefined];

describe('the time of the change that endpoints follow from', () => {
  const rows: readonly (readonly [what: string, looks: readonly Look[]])[] = [
    ['a new service', [[2, [], 2]]],
    ['a new service with pods of before and after', [[3, [pod('a', 0), pod('b', 1), pod('c', 5)], 3]]],
    [
      'pods that were added: the first of them',
      [
        [0, [], 0],
        [0, [pod('a', 2), pod('b', 1)], 1],
      ],
    ],
    [
      'pods that changed',
      [
        [0, [pod('a', 1), pod('b', 1)], 0],
        [0, [pod('a', 4), pod('b', 3)], 3],
        [0, [pod('a', 4), pod('b', 3)], undefined],
      ],
    ],
    [
      'pods that are gone',
      [
        [0, [pod('a', 1)], 0],
        [0, [], undefined],
      ],
    ],
    [
      'a service made anew',
      [
        [0, [pod('a', 1)], 0],
        [4, [pod('a', 1)], 4],
      ],
    ],
    [
      'pods that were never ready',
      [
        [0, [], 0],
        [0, [pod('a')], undefined],
      ],
    ],
  ];
  for (const [what, looks] of rows) {
    it(what, () => {
      const times = new TriggerTimes();
      for (const [created, pods, expected] of looks) {
        assert.equal(times.next('n/s', service(created), pods), expected === undefined ? undefined : at(expected));
      }
    });
  }

  it('of a service that is gone is forgotten', () => {
    const times = new TriggerTimes();
    times.next('n/s', service(1), []);
    times.forget('n/s');
    assert.equal(times.next('n/s', service(1), []), at(1));
  });
});
