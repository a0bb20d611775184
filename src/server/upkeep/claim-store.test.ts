import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { openMemoryStore } from '../../store/drivers/memory/memory-store.ts';
import { type Store, StoreError } from '../../store/store.ts';
import { claimStore } from './claim-store.ts';

let store: Store;
beforeEach(() => {
  store = openMemoryStore();
});
afterEach(() => store.close());

test('the first server records its dialect, and servers of that dialect may start', async () => {
  await claimStore(store, 'orch');
  const revision = await store.head();
  await claimStore(store, 'orch');
  assert.equal(await store.head(), revision, 'a restart writes nothing');
});

test('a server of another dialect fails with the owner and the remedy', async () => {
  await claimStore(store, 'kubernetes');
  const revision = await store.head();
  await assert.rejects(
    claimStore(store, 'orch'),
    /--dialect=kubernetes and cannot be served with --dialect=orch: start with/,
  );
  assert.equal(await store.head(), revision);
});

for (const { what, there, error } of [
  { what: 'data of another program', there: { '/configmaps/default/a': 'k8s\0' }, error: /such as "\/configmaps\/def/ },
  { what: 'any other key', there: { '/x': '' }, error: /data of another program.*--etcd-prefix/ },
  { what: 'the data of a later release', there: { '/.dialect': 'orch', '/.format': '2' }, error: /later release.*"2"/ },
  {
    what: 'a format that is no number',
    there: { '/.dialect': 'orch', '/.format': 'b1' },
    error: /later release.*"b1"/,
  },
  { what: 'the data of this release', there: { '/.dialect': 'orch', '/.format': '1', '/x': '' }, error: undefined },
  { what: 'the health key of a server that stands in for etcd', there: { '/health': '{}' }, error: undefined },
]) {
  test(`${what} is ${error ? 'refused, and left as it is' : 'served'}`, async () => {
    for (const [key, value] of Object.entries(there)) await store.create(key, Buffer.from(value));
    const before = await store.head();
    if (!error) return claimStore(store, 'orch');
    await assert.rejects(claimStore(store, 'orch'), error);
    assert.equal(await store.head(), before);
  });
}

test('data that another server wrote beside its claim, just now, is not foreign', async () => {
  const racing: Store = {
    ...store,
    get: (key, at) => store.get(key, at),
    async list(prefix, options) {
      await store.create('/.dialect', Buffer.from('orch'));
      await store.create('/x', Buffer.from('{}'));
      return store.list(prefix, options);
    },
    create: (key, value) => store.create(key, value),
  };
  await claimStore(racing, 'orch');
});

/** A store in which another server writes between our read and our write. */
const raced = (dialect: string): Store => ({
  ...store,
  get: (key, at) => store.get(key, at),
  list: (prefix, options) => store.list(prefix, options),
  async create(key, value) {
    await store.create(key, Buffer.from(dialect));
    return store.create(key, value);
  },
});

test('of two concurrent starts with one dialect both succeed', async () => {
  await claimStore(raced('orch'), 'orch');
  assert.equal((await store.list('')).records.length, 1);
});

test('of two concurrent starts with different dialects the second fails', async () => {
  await assert.rejects(claimStore(raced('kubernetes'), 'orch'), /written with --dialect=kubernetes/);
});

for (const done of [true, false]) {
  test(`a claim of unknown outcome that was ${done ? 'done' : 'not done'} is looked for, and made once`, async () => {
    let sent = 0;
    const lossy: Store = {
      ...raced('orch'),
      async create(key, value) {
        sent++;
        if (done) await store.create(key, value);
        throw new StoreError('unknownOutcome', 'lost');
      },
    };
    if (done) await claimStore(lossy, 'orch');
    else await assert.rejects(claimStore(lossy, 'orch'), { code: 'unknownOutcome' });
    assert.equal(sent, 1);
  });
}

test('a failing store is not taken for an empty one', async () => {
  const unavailable = new StoreError('unavailable', 'gone');
  const refuse = async (): Promise<never> => {
    throw unavailable;
  };
  await assert.rejects(claimStore({ ...raced('orch'), get: refuse }, 'orch'), unavailable);
  await assert.rejects(claimStore({ ...raced('orch'), create: refuse }, 'orch'), unavailable);
});
