import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { RegistryFixture } from '../registry-fixture.ts';

const folder = '/api/v1/namespaces/n/pods';
const pod = (name: string, nodeName: string) => ({
  metadata: { name, labels: { name } },
  spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
});

describe('lists are counted', () => {
  let fixture: RegistryFixture;
  let [past, newest] = ['', ''];
  before(async () => {
    fixture = await RegistryFixture.open();
    for (const name of ['a', 'b', 'c']) await fixture.call('POST', folder, pod(name, name === 'a' ? 'one' : 'two'));
    past = (await fixture.list(folder)).metadata.resourceVersion;
    await fixture.call('POST', folder, pod('d', 'two'));
    newest = (await fixture.list(folder)).metadata.resourceVersion;
    // Forgets past states, which are then read from the store.
    await fixture.cache.reload('/core/pods/');
  });
  after(() => fixture[Symbol.asyncDispose]());

  const counts = (): ReadonlyMap<string, number> =>
    new Map(
      [
        ...fixture.metrics
          .render()
          .matchAll(/^apiserver_(\S+)\{resource(?:_prefix)?="(?:\/core\/)?pods"(.*)\} (\S+)$/gm),
      ]
        .filter(([, name = '']) => /list_|consistent|^init/.test(name))
        .map(([, name = '', labels = '', value]) => [`${name}${labels}`, Number(value)]),
    );

  const cached = (fetched: number, returned: number, index = '') => ({
    [`cache_list_total,index="${index}"`]: 1,
    [`cache_list_fetched_objects_total,index="${index}"`]: fetched,
    cache_list_returned_objects_total: returned,
  });
  const consistent = { 'watch_cache_consistent_read_total,success="true",fallback="false"': 1 };
  const stored = (fetched: number, evaluated: number, returned: number) => ({
    storage_list_total: 1,
    storage_list_fetched_objects_total: fetched,
    storage_list_evaluated_objects_total: evaluated,
    storage_list_returned_objects_total: returned,
  });

  for (const [what, query, expected] of [
    ['of everything', () => '', { ...consistent, ...cached(4, 4) }],
    ['of what is cached', () => 'resourceVersion=0', cached(4, 4)],
    ['with a limit', () => 'limit=3', { ...consistent, ...cached(3, 3) }],
    ['by label', () => 'labelSelector=name!=a', { ...consistent, ...cached(4, 3) }],
    ['by label with a limit', () => 'labelSelector=name!=a&limit=1', { ...consistent, ...cached(3, 1) }],
    ['by name', () => 'fieldSelector=metadata.name=b', { ...consistent, ...cached(1, 1) }],
    [
      'by an indexed field',
      () => 'fieldSelector=spec.nodeName=two',
      { ...consistent, ...cached(3, 3, 'f:spec.nodeName') },
    ],
    [
      'by an indexed field, of nothing',
      () => 'fieldSelector=spec.nodeName=no',
      { ...consistent, ...cached(0, 0, 'f:spec.nodeName') },
    ],
    ['of the revision that is cached', () => `resourceVersion=${newest}&resourceVersionMatch=Exact`, cached(4, 4)],
    ['of the past', () => `resourceVersion=${past}&resourceVersionMatch=Exact`, stored(3, 3, 3)],
    ['of the past with a limit', () => `resourceVersion=${past}&resourceVersionMatch=Exact&limit=1`, stored(3, 2, 1)],
    [
      'of the past by label',
      () => `resourceVersion=${past}&resourceVersionMatch=Exact&labelSelector=name=c`,
      stored(3, 3, 1),
    ],
  ] as const) {
    it(what, async () => {
      const known = counts();
      await fixture.list(`${folder}?${query()}`);
      const grown = [...counts()].map(([name, value]) => [name, value - (known.get(name) ?? 0)] as const);
      const added = Object.fromEntries(grown.filter(([, by]) => by !== 0));
      assert.deepEqual(added, Object.fromEntries(Object.entries(expected).filter(([, by]) => by !== 0)));
    });
  }

  it('of the newest state that fails', async () => {
    const aborted = new AbortController();
    const { store } = fixture;
    Object.defineProperty(store, 'knownHead', { get: () => undefined, configurable: true });
    aborted.abort(new Error('gone'));
    try {
      await assert.rejects(fixture.call('GET', folder, undefined, aborted.signal));
    } finally {
      Reflect.deleteProperty(store, 'knownHead');
    }
    assert.equal(counts().get('watch_cache_consistent_read_total,success="false",fallback="false"'), 1);
    const waits = /^apiserver_watch_cache_read_wait_seconds_count\{resource="pods"\} 1$/m;
    assert.match(fixture.metrics.render(), waits);
  });

  for (const [query, count] of [
    ['resourceVersion=0', 4],
    ['resourceVersion=0&labelSelector=name=b', 1],
    ['resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan', 0],
  ] as const) {
    it(`objects with which a watch begins: ${query}`, async () => {
      const known = counts().get('init_events_total') ?? 0;
      await fixture.call('GET', `${folder}?watch=1&${query}`);
      assert.equal((counts().get('init_events_total') ?? 0) - known, count);
    });
  }
});
