import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '../../../base/limits.ts';
import { type Logger, silentLogger } from '../../../base/logger.ts';
import { until } from '../../../base/waits-fixture.ts';
import type { ChangeBatch, Store } from '../../store.ts';
import { type EtcdProcess, etcdMissing, startEtcd } from './etcd-process-fixture.ts';
import { openEtcdStore } from './etcd-store.ts';
import { PassedOverKeys } from './passed-over-keys.ts';

/** Keys below the prefix that no store writes. */

const folder = '/registry/core/secrets/';
const foreign = ['\xff\xfe', '\xff', 'b\xc0'].map((name) => Buffer.from(folder + name, 'latin1'));

const recording = (): { readonly logger: Logger; readonly keys: unknown[] } => {
  const keys: unknown[] = [];
  return { logger: { ...silentLogger, warn: (_, fields) => keys.push(fields?.['key']) }, keys };
};

describe('foreign keys in etcd', { skip: etcdMissing }, () => {
  let etcd: EtcdProcess;
  let store: Store;
  let counted = 0;
  const { logger, keys } = recording();

  /** By the JSON gateway of etcd, as any other program might. */
  const call = async (method: string, key: Buffer, more: object = {}): Promise<void> => {
    const body = JSON.stringify({ key: key.toString('base64'), ...more });
    const { ok } = await fetch(`${etcd.endpoint}/v3/kv/${method}`, { method: 'POST', body });
    assert.ok(ok);
  };
  const putForeign = (key: Buffer): Promise<void> => call('put', key, { value: Buffer.from('x').toString('base64') });

  before(async () => {
    etcd = await startEtcd();
    store = await openEtcdStore({ endpoints: [etcd.endpoint], logger, passedOver: { inc: () => counted++ } });
  });
  after(async () => {
    await store.close();
    await etcd.stop();
  });

  test('lists and watches pass over them, and their revisions count', async () => {
    const from = await store.head();
    const batches: ChangeBatch[] = [];
    const ended = new AbortController();
    const following = (async () => {
      for await (const batch of store.changes(from, ended.signal)) batches.push(batch);
    })();
    const value = Buffer.from('{}');
    await store.create('/core/secrets/a', value);
    for (const key of foreign) await putForeign(key);
    await store.create('/core/secrets/c', value);
    await call('deleterange', foreign[0] as Buffer);
    await putForeign(foreign[0] as Buffer);
    const last = await store.head();
    await until(() => (batches.at(-1)?.revision ?? 0) >= last);
    ended.abort();
    await following;
    assert.ok(last >= from + 7);
    assert.deepEqual(
      batches.flatMap(({ changes }) => changes.map(({ type, key }) => `${type} ${key}`)),
      ['create /core/secrets/a', 'create /core/secrets/c'],
    );
    assert.equal(counted, 5);
    assert.deepEqual(keys.toSorted(), [`${folder}\\xff`, `${folder}\\xff\\xfe`, `${folder}b\\xc0`]);

    const names = async (options = {}): Promise<readonly string[]> =>
      (await store.list('/core/secrets/', options)).records.map(({ key }) => key);
    assert.deepEqual(await names(), ['/core/secrets/a', '/core/secrets/c']);
    assert.deepEqual(await names({ limit: 2 }), ['/core/secrets/a', '/core/secrets/c']);
    assert.deepEqual(await names({ limit: 1, after: '/core/secrets/a' }), ['/core/secrets/c']);
    const end = await store.list('/core/secrets/', { limit: 1, after: '/core/secrets/c' });
    assert.deepEqual([end.records, end.remaining], [[], 0]);
    assert.equal(keys.length, 3);
  });
});

test('a key is logged once, and not more than so many are', () => {
  const { logger, keys } = recording();
  let counted = 0;
  const passedOver = new PassedOverKeys({ logger, counted: { inc: () => counted++ } });
  const many = limits.etcdForeignKeysLogged + 5;
  for (let round = 0; round < 2; round++) {
    for (let index = 0; index < many; index++) passedOver.note(Buffer.from(`/registry/\0'${index}`));
  }
  assert.equal(counted, 2 * many);
  assert.equal(keys.length, limits.etcdForeignKeysLogged);
  assert.equal(keys[0], '/registry/\\x00\\x270');
});
