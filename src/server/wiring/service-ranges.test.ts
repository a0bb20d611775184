import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { StoredServiceRanges } from './service-ranges.ts';

const configured = { clusterIps: ['10.0.0.0/24', 'fd00::/112'], nodePorts: { first: 30_000, last: 32_767 } };

interface State {
  readonly deleted?: true;
  readonly ready?: string;
}

const range = (name: string, cidrs: readonly string[], { deleted, ready }: State = {}) => ({
  apiVersion: 'networking.orch.io/v1beta1',
  kind: 'ServiceCIDR',
  metadata: { name, ...(deleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
  spec: { cidrs },
  status: ready === undefined ? {} : { conditions: [{ type: 'Ready', status: ready }] },
});

const openOf = (ranges: StoredServiceRanges): readonly string[] =>
  (ranges.ranges().stored ?? []).map(({ text, isOpen }) => `${text} ${isOpen ? 'open' : 'closed'}`);

test('the configured ranges are open until the default ServiceCIDR is there, which may have others', () => {
  const ranges = new StoredServiceRanges(configured, orch);
  ranges.put(range('more', ['10.9.0.0/24']));
  assert.deepEqual(openOf(ranges), ['10.0.0.0/24 open', 'fd00::/112 open', '10.9.0.0/24 open']);
  ranges.put(range('orch', ['10.0.0.0/24']));
  assert.deepEqual(openOf(ranges), ['10.0.0.0/24 open', 'fd00::/112 closed', '10.9.0.0/24 open']);
  ranges.remove('', 'orch');
  assert.deepEqual(openOf(ranges), ['10.0.0.0/24 open', 'fd00::/112 open', '10.9.0.0/24 open']);
});

for (const [what, state, isOpen] of [
  ['nobody has said anything of', {}, true],
  ['is ready', { ready: 'True' }, true],
  ['is not ready', { ready: 'False' }, false],
  ['of which nobody knows', { ready: 'Unknown' }, false],
  ['is being deleted', { ready: 'True', deleted: true }, false],
] as const) {
  test(`a ServiceCIDR that ${what} is ${isOpen ? 'open' : 'closed'}`, () => {
    const ranges = new StoredServiceRanges({ ...configured, clusterIps: [] }, orch);
    ranges.put(range('a', ['10.9.0.0/24'], state));
    assert.deepEqual(openOf(ranges), [`10.9.0.0/24 ${isOpen ? 'open' : 'closed'}`]);
  });
}

test('a range of two ServiceCIDRs is one, open if it is in either', () => {
  const ranges = new StoredServiceRanges({ ...configured, clusterIps: [] }, orch);
  ranges.put(range('a', ['10.9.0.0/24']));
  ranges.put(range('b', ['10.9.0.0/24'], { deleted: true }));
  assert.deepEqual(openOf(ranges), ['10.9.0.0/24 open']);
  ranges.put(range('a', ['10.9.0.0/24'], { deleted: true }));
  assert.deepEqual(openOf(ranges), ['10.9.0.0/24 closed']);
});

test('pools are made once for each change, with a name for each configured family', () => {
  const ranges = new StoredServiceRanges(configured, orch);
  ranges.put(range('orch', ['10.0.0.0/24']));
  const pools = ranges.pools();
  assert.equal(ranges.pools(), pools);
  assert.deepEqual(
    pools.map(({ name, closed = false }) => `${name} ${closed}`),
    ['IPv4 false', 'IPv6 true', 'nodeports false'],
  );
  ranges.put(range('more', ['10.9.0.0/24']));
  assert.notEqual(ranges.pools(), pools);
});
