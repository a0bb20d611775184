import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject } from '../../../meta/api-object.ts';
import { planSlices, type SliceContent, type SliceEndpoint } from './slice-plan.ts';

const endpointOf = (index: number): SliceEndpoint => ({
  addresses: [`10.0.${index >> 8}.${index & 255}`],
  conditions: { ready: true, serving: true, terminating: false },
  targetRef: { uid: `${index}` },
});
const http = { name: 'http', port: 80, protocol: 'TCP' };
const content = (from: number, to: number, ports = [http]): SliceContent => ({
  ...{ addressType: 'IPv4', ports },
  endpoints: Array.from({ length: to - from }, (_, index) => endpointOf(from + index)),
});
const sliceOf = (name: string, what: SliceContent): ApiObject => ({
  ...{ apiVersion: 'discovery.orch.io/v1', kind: 'EndpointSlice', metadata: { name } },
  ...what,
});
const nothing: SliceContent = { addressType: 'IPv4', ports: [], endpoints: [] };

describe('slices of the endpoints of a service', () => {
  for (const [what, existing, wanted, expected] of [
    ['the first', [], [content(0, 3)], ['new: 3']],
    ['as many as it takes', [], [content(0, 250)], ['new: 100', 'new: 100', 'new: 50']],
    ['one is filled up', [sliceOf('a', content(0, 90))], [content(0, 130)], ['a: 100', 'new: 30']],
    [
      'what goes leaves the others where they are',
      [sliceOf('a', content(0, 90)), sliceOf('b', content(90, 180))],
      [content(50, 180)],
      ['a: 40', 'b: 90'],
    ],
    [
      'an empty one goes',
      [sliceOf('a', content(0, 90)), sliceOf('b', content(90, 100))],
      [content(0, 90)],
      ['a: 90', 'b: gone'],
    ],
    [
      'other ports get another',
      [sliceOf('a', content(0, 3))],
      [content(0, 3, [{ ...http, port: 81 }])],
      ['new: 3', 'a: gone'],
    ],
    ['none at all: an empty one', [], [nothing], ['new: 0']],
    ['the empty one stays', [sliceOf('a', nothing)], [nothing], ['a: 0']],
    ['the empty one goes with the first endpoint', [sliceOf('a', nothing)], [content(0, 1)], ['new: 1', 'a: gone']],
    [
      'of a family that is no longer wanted',
      [sliceOf('a', { ...content(0, 1), addressType: 'IPv6' })],
      [content(0, 1)],
      ['new: 1', 'a: gone'],
    ],
  ] as const) {
    it(what, () => {
      const planned = planSlices(existing, wanted);
      assert.deepEqual(
        planned.map(
          ({ slice, content: to }) => `${slice?.metadata.name ?? 'new'}: ${to ? to.endpoints.length : 'gone'}`,
        ),
        expected,
      );
      // Every endpoint is in one slice.
      const all = planned.flatMap(({ content: to }) => to?.endpoints ?? []).map(({ targetRef }) => targetRef.uid);
      assert.deepEqual(
        [...all].sort(),
        wanted.flatMap(({ endpoints }) => endpoints.map(({ targetRef }) => targetRef.uid)).sort(),
      );
    });
  }
});
