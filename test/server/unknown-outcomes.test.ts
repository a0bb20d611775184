import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { limits } from '../../src/base/limits.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import {
  isOverwritten,
  overwrite,
  type Place,
  type SentRequest,
  type WriteRow,
  writeRows,
} from '../../src/registry/write/write-rows-fixture.ts';
import { type EtcdProcess, etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { type EtcdProxy, type Fate, pass, startEtcdProxy } from '../../src/store/drivers/etcd/etcd-proxy-fixture.ts';
import { openEtcdStore } from '../../src/store/drivers/etcd/etcd-store.ts';
import type { Revision, Store } from '../../src/store/store.ts';
import { type Answer, OrchProcess } from '../support/orch-process.ts';

/**
 * Every way to write an object, through a proxy that loses what goes between the server and etcd. `other` is another server
 * on the same etcd, which the proxy does not touch.
 */

const namespace = 'default';
const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

interface Body {
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly retryAfterSeconds?: number; readonly causes?: readonly { readonly reason: string }[] };
  readonly metadata?: { readonly resourceVersion?: string };
}

const send = (server: OrchProcess, { method, path, patch, body }: SentRequest): Promise<Answer<Body>> =>
  server.request(method, path, { body, headers: patch ? { 'content-type': patchTypes[patch] } : {} });

const must = async (server: OrchProcess, sent: SentRequest): Promise<void> => {
  const { status, text } = await send(server, sent);
  assert.ok(status < 300, `${sent.method} ${sent.path}: ${text}`);
};

const objectsOf = async (server: OrchProcess, { collection, name }: Place): Promise<readonly ApiObject[]> =>
  (await server.get<{ readonly items: readonly ApiObject[] }>(`${collection}?labelSelector=row%3D${name}`)).json.items;

const fates = ['not done', 'its first copy lost', 'done', 'done and overwritten since'] as const;

describe('writes whose answer is lost', { skip: etcdMissing, timeout: 5 * 60_000, concurrency: 8 }, () => {
  const prefix = '/lost';
  let etcd: EtcdProcess;
  let proxy: EtcdProxy;
  let store: Store;
  let server: OrchProcess;
  let other: OrchProcess;
  /** By the name of a row's object: what happens to the transactions that have it. */
  const onTheirWay = new Map<string, (transaction: Buffer) => Fate>();

  before(async () => {
    etcd = await startEtcd();
    proxy = await startEtcdProxy(etcd.endpoint);
    proxy.fate = (transaction) => {
      for (const [name, fate] of onTheirWay) if (transaction.includes(`/${name}`)) return fate(transaction);
      return pass;
    };
    store = await openEtcdStore({ endpoints: [etcd.endpoint], prefix });
    const flagsOf = (endpoint: string) => [`--etcd-servers=${endpoint}`, `--etcd-prefix=${prefix}`];
    server = await OrchProcess.start({ flags: flagsOf(proxy.endpoint) });
    other = await OrchProcess.start({ flags: flagsOf(etcd.endpoint) });
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
    await store.close();
    await proxy.close();
    await etcd.stop();
  });

  /** Where the object of a place was written last; 0 where it is gone. */
  const writtenAt = async ({ name }: Place): Promise<Revision> => {
    const { records } = await store.list('/');
    return records.find(({ key }) => key.includes(`/${name}`))?.revision ?? 0;
  };

  let places = 0;
  const attempt = async (row: WriteRow, fate: (typeof fates)[number]): Promise<void> => {
    const place = { namespace, name: `row${++places}x`, collection: row.path(namespace) };
    for (const sent of row.before(place)) await must(other, sent);
    const [found] = await objectsOf(server, place);
    const lost = row.writes ?? 1;
    let transactions = 0;
    let copies = 0;
    let first: Buffer | undefined;
    let done: Revision = 0;
    const meanwhile = async (): Promise<void> => {
      done = await writtenAt(place);
      if (fate === 'done') return;
      for (const sent of overwrite(row, place, await objectsOf(other, place))) await must(other, sent);
    };
    onTheirWay.set(place.name, (transaction) => {
      transactions++;
      // Controllers write to the object too, as soon as the request has.
      if (transactions === lost) first = transaction;
      if (first?.equals(transaction)) copies++;
      if (transactions !== lost && !(fate === 'not done' && transactions > lost)) return pass;
      return fate === 'not done' || fate === 'its first copy lost'
        ? { type: 'loseRequest', as: 'reset' }
        : { type: 'loseAnswer', as: 'reset', meanwhile };
    });
    const answer = await send(server, row.request(place, found));
    onTheirWay.delete(place.name);
    // A second copy of a creation could create again what others have deleted since.
    const isCreation = found === undefined;
    const allowed = isCreation ? 1 : fate === 'not done' ? limits.etcdCopiesMax : 2;
    assert.equal(copies, allowed, 'creations are sent once, others until answered');
    const objects = await objectsOf(other, place);
    if (fate === 'not done' || (fate === 'its first copy lost' && isCreation)) {
      assert.equal(answer.status, 504, answer.text);
      assert.equal(answer.json.reason, 'Timeout');
      assert.match(answer.json.message ?? '', /the outcome is unknown; read before you try again/);
      // No number of seconds: clients would send the write again by themselves.
      const again = Date.parse(String(answer.headers['retry-after']));
      assert.ok(Math.abs(again - Date.now()) < 60_000, String(answer.headers['retry-after']));
      const { details } = answer.json;
      assert.deepEqual([details?.retryAfterSeconds, details?.causes?.[0]?.reason], [1, 'UnknownOutcome']);
      assert.deepEqual(row.seen(objects), row.undone);
      return;
    }
    assert.equal(answer.status, row.status, answer.text);
    const version = answer.json.metadata?.resourceVersion;
    if (version !== undefined && done !== 0) assert.equal(version, String(done), 'the version is that of the write');
    if (fate !== 'done and overwritten since') assert.deepEqual(row.seen(objects), row.done);
    else assert.ok(isOverwritten(objects), 'what others wrote since stays');
  };

  for (const row of writeRows(orch.group('rbac.authorization'))) {
    for (const fate of fates) test(`${row.what}, ${fate}`, () => attempt(row, fate));
  }
});
