import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { kinds } from '../../kinds/kinds.ts';
import type { EtcdOverride } from './storage-config.ts';
import { otherStores } from './store-places.ts';

/** Overrides as texts: `group/resource#servers`. */
function placed(...overrides: readonly string[]) {
  const warned: unknown[] = [];
  const read = (text: string): EtcdOverride => {
    const [group = '', resource = '', servers = ''] = text.split(/[/#]/);
    return { group, resource, endpoints: servers.split(';') };
  };
  const storage = {
    ...({ backend: 'etcd3', endpoints: ['m1', 'm2'], prefix: '/p', compactionMs: 7 } as const),
    overrides: overrides.map(read),
  };
  const others = otherStores(kinds(kubernetes), storage, { warn: (_, data) => void warned.push(data) });
  for (const { storage: other } of others) {
    assert.deepEqual({ ...other, endpoints: [] }, { backend: 'etcd3', endpoints: [], prefix: '/p', compactionMs: 7 });
  }
  const found = others.map(({ storage: other, folders }) => [
    other.backend === 'etcd3' && other.endpoints.join(';'),
    [...folders].sort().join(' '),
  ]);
  return { found, warned };
}

describe('resources with servers of their own', () => {
  for (const [what, overrides, expected] of [
    ['one', ['/events#e'], [['e', '/core/events/']]],
    [
      'two with the same servers, in another order: one store',
      ['coordination.k8s.io/leases#f;e', '/events#e;f'],
      [['e;f', '/coordination.k8s.io/leases/ /core/events/']],
    ],
    [
      'two with others: in the order of the flag',
      ['coordination.k8s.io/leases#f', '/events#e'],
      [
        ['f', '/coordination.k8s.io/leases/'],
        ['e', '/core/events/'],
      ],
    ],
    ['a later one counts', ['/events#e', '/events#f'], [['f', '/core/events/']]],
    [
      'a group, but for one that is named',
      ['storage.k8s.io/csinodes#f', 'storage.k8s.io/*#m1;m2', 'events.k8s.io/*#e'],
      [['f', '/storage.k8s.io/csinodes/']],
    ],
    ['the servers of all others', ['/events#m2;m1'], []],
  ] as const) {
    test(what, () => assert.deepEqual(placed(...overrides).found, expected));
  }

  test('of what is not built in, or stored as another resource, nothing becomes of it', () => {
    const { found, warned } = placed('example.com/things#e', 'events.k8s.io/events#e', '/pods#e');
    assert.deepEqual(found, [['e', '/core/pods/']]);
    assert.deepEqual(warned, [{ resource: 'example.com/things' }, { resource: 'events.k8s.io/events' }]);
  });

  for (const [override, named] of [
    ['/services#e', 'services'],
    ['/endpoints#e', 'endpoints'],
    ['networking.k8s.io/ipaddresses#e', 'ipaddresses.networking.k8s.io'],
    ['/*#e', '(endpoints|services)'],
  ] as const) {
    test(`${override} is refused: they are written together with others`, () => {
      assert.throws(
        () => placed(override),
        new RegExp(`^Error: --etcd-servers-overrides: ${named} cannot be in another etcd: they are written in one`),
      );
    });
  }

  test('without the flag, or with another store, there are none', () => {
    const logger = { warn: () => assert.fail('a warning') };
    assert.deepEqual(otherStores(kinds(kubernetes), { backend: 'etcd3', endpoints: ['e'], prefix: '/p' }, logger), []);
    assert.deepEqual(otherStores(kinds(kubernetes), { backend: 'memory' }, logger), []);
  });
});
