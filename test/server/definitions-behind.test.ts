import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { until, within } from '../../src/base/waits-fixture.ts';
import { type ApiClient, ApiError, type ApiList } from '../../src/client/api-client.ts';
import { resourcePath } from '../../src/client/resource-path.ts';
import type { Definition } from '../../src/kinds/apiextensions/custom-resource-definition.ts';
import type { ApiObject } from '../../src/meta/api-object.ts';
import { define, definitionOf, definitionPath, versionOf } from '../support/custom-resources.ts';
import { root } from '../support/in-process-server.ts';
import { Lag, SharedStore } from '../support/shared-store.ts';

/**
 * A server that hears late of what another one of its store did to a definition. Requests that come later wait until it has;
 * those that were under way are finished by what it knew. Then it agrees with the other, whatever was written meanwhile.
 */

const group = 'farm.example';
const name = `widgets.${group}`;
const at = (called?: string, version = 'v1'): string =>
  resourcePath({ apiVersion: `${group}/${version}`, resource: 'widgets', namespace: 'default', name: called });
const widget = (called: string, more: object = {}) => ({
  ...{ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name: called } },
  ...more,
});
const size = (maximum: number) => ({ size: { type: 'integer', maximum } });

/** Of the answer; 200 for any success. */
const codeOf = (answer: Promise<unknown>): Promise<number> =>
  answer.then(
    () => 200,
    (error: unknown) => (error instanceof ApiError ? error.code : Promise.reject(error)),
  );

interface Servers {
  readonly shared: SharedStore;
  readonly ahead: ApiClient;
  readonly behind: ApiClient;
  readonly lag: Lag;
}

async function withServers(use: (servers: Servers) => Promise<void>): Promise<void> {
  await using shared = new SharedStore();
  const lag = new Lag();
  const [ahead, behind] = [await shared.start(), await shared.start(lag)].map((each) => each.clientAs(root, 'test'));
  try {
    await use({ shared, ahead: ahead as ApiClient, behind: behind as ApiClient, lag });
  } finally {
    lag.release();
  }
}

/** A creation that a server has begun. It may wait until the server has heard of what it missed. */
async function begun(client: ApiClient, object: object): Promise<{ readonly ended: Promise<unknown> }> {
  const ended = within(client.create(at(), object), 'the creation does not end');
  ended.catch(() => {});
  await client.get(`${at()}?resourceVersion=0`);
  return { ended };
}

const dry = `${at()}?dryRun=All`;
const isServed = (client: ApiClient): Promise<void> => until(async () => (await codeOf(client.get(at()))) === 200);
const isGone = (client: ApiClient): Promise<void> => until(async () => (await codeOf(client.get(at()))) === 404);
const definitionAt = (client: ApiClient): Promise<ApiObject & Definition> => client.get(definitionPath(name));

describe('a server that is behind', () => {
  it('serves a new kind to requests that come after its definition, and has them wait until it has heard of it', () =>
    withServers(async ({ ahead, behind, lag }) => {
      lag.hold();
      await define(ahead, definitionOf({ group }));
      await ahead.create(at(), widget('a'));
      const creating = within(behind.create(at(), widget('b')), 'the creation does not end');
      lag.release();
      await creating;
      await behind.get(at('a'));
    }));

  it('validates by the new schema what comes after it; what it took before stays', () =>
    withServers(async ({ ahead, behind, lag }) => {
      await define(ahead, definitionOf({ group, properties: size(100) }));
      await isServed(behind);
      await behind.create(at(), widget('large', { size: 100 }));
      lag.hold();
      await ahead.mergePatch(definitionPath(name), { spec: { versions: [versionOf(size(10))] } });
      await until(async () => (await codeOf(ahead.create(dry, widget('x', { size: 11 })))) === 422);
      const writing = await begun(behind, widget('second', { size: 100 }));
      lag.release();
      assert.equal(await codeOf(writing.ended), 422);
      for (const client of [ahead, behind]) {
        const { size: stored } = await client.get<ApiObject & { size: number }>(at('large'));
        assert.equal(stored, 100);
        await client.mergePatch(at('large'), { metadata: { labels: { at: 'x' } } });
        assert.equal(await codeOf(client.mergePatch(at('large'), { size: 99 })), 422);
      }
    }));

  it('writes in a storage version that is remembered, and then in the new one; all objects are read in both', () =>
    withServers(async ({ shared, ahead, behind, lag }) => {
      const versions = (stored: string) =>
        ['v1', 'v2'].map((each) => versionOf(size(100), { name: each, storage: each === stored }));
      await define(ahead, definitionOf({ group, versions: versions('v1') }));
      await isServed(behind);
      lag.hold();
      await ahead.mergePatch(definitionPath(name), { spec: { versions: versions('v2') } });
      await until(async () => (await definitionAt(ahead)).status?.storedVersions?.join() === 'v1,v2');
      const writing = await begun(behind, widget('before'));
      lag.release();
      await writing.ended;
      const storedAs = async (called: string): Promise<string> => {
        const record = await shared.store.get(`/${group}/widgets/default/${called}`);
        return JSON.parse(Buffer.from(record?.value ?? '{}').toString()).apiVersion;
      };
      assert.match(await storedAs('before'), /\/v[12]$/, 'both are remembered');
      await until(async () => (await definitionAt(behind)).status?.storedVersions?.join() === 'v1,v2');
      let round = 0;
      await until(async () => {
        await behind.mergePatch(at('before'), { metadata: { labels: { round: `${round++}` } } });
        return (await storedAs('before')) === `${group}/v2`;
      });
      for (const client of [ahead, behind]) for (const each of ['v1', 'v2']) await client.get(at('before', each));
    }));

  it('serves a kind that is removed until it hears of it, and then its successor', () =>
    withServers(async ({ ahead, behind, lag }) => {
      await define(ahead, definitionOf({ group }));
      await isServed(behind);
      await ahead.create(at(), widget('a'));
      lag.hold();
      await ahead.delete(definitionPath(name));
      await isGone(ahead);
      lag.release();
      await isGone(behind);
      await define(behind, definitionOf({ group }));
      for (const client of [ahead, behind]) {
        await isServed(client);
        assert.deepEqual((await client.get<ApiList>(at())).items, []);
      }
    }));

  it('may leave an object of a kind that is gone: the next one of that name is served, and removes it in the end', () =>
    withServers(async ({ shared, ahead, behind }) => {
      const metadata = { name: 'late', uid: 'u-1', creationTimestamp: '2026-01-01T00:00:00Z' };
      const late = Buffer.from(JSON.stringify({ apiVersion: `${group}/v0`, kind: 'Former', metadata }));
      await shared.store.create(`/${group}/widgets/default/late`, late);
      await define(ahead, definitionOf({ group }));
      for (const [client, called] of [
        [ahead, 'one'],
        [behind, 'two'],
      ] as const) {
        await isServed(client);
        await client.create(at(), widget(called));
      }
      await ahead.delete(definitionPath(name));
      for (const client of [ahead, behind]) await isGone(client);
      assert.deepEqual((await shared.store.list(`/${group}/`)).records, []);
    }));
});
