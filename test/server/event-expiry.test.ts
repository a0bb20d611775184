import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { until } from '../../src/base/waits-fixture.ts';
import { etcdMissing, startEtcd } from '../../src/store/drivers/etcd/etcd-process-fixture.ts';
import { OrchProcess, type WatchClient, type WatchEvent } from '../support/orch-process.ts';

/** Events go by themselves (`--event-ttl`), on a running server. */

const events = '/api/v1/namespaces/default/events';
const configMaps = '/api/v1/namespaces/default/configmaps';

const shown = ({ type, object }: WatchEvent): string => `${type} ${object.metadata.name}`;
const saw = (what: string) => (watch: WatchClient) => watch.events.some((event) => shown(event) === what);

async function report(server: OrchProcess, name: string): Promise<void> {
  const { status, text } = await server.post(events, { metadata: { name }, involvedObject: { namespace: 'default' } });
  assert.equal(status, 201, text);
}

async function openWatch(server: OrchProcess, path: string): Promise<WatchClient> {
  const watch = server.watch(`${path}?watch=1`);
  await watch.until(({ status }) => status === 200);
  return watch;
}

describe('events', { timeout: 2 * 60_000 }, () => {
  test('go when they were not written for the time, and nothing else does', async () => {
    const timeToLiveMs = 2_000;
    await using server = await OrchProcess.start({ flags: [`--event-ttl=${timeToLiveMs}ms`] });
    const watch = await openWatch(server, events);
    await server.post(configMaps, { metadata: { name: 'stays' } });
    const began = performance.now();
    await report(server, 'left');
    await report(server, 'kept');
    let writtenAt = 0;
    await until(async () => {
      if (performance.now() - writtenAt > timeToLiveMs / 10) {
        writtenAt = performance.now();
        const { status } = await server.put(`${events}/kept`, {
          metadata: { name: 'kept' },
          involvedObject: { namespace: 'default' },
          message: `written at ${writtenAt}`,
        });
        assert.equal(status, 200, 'it went although it was written');
      }
      return saw('DELETED left')(watch);
    }, 'the event stays');
    assert.ok(performance.now() - began >= timeToLiveMs);
    assert.ok(!saw('DELETED kept')(watch));
    await watch.until(saw('DELETED kept'));
    assert.ok(performance.now() - writtenAt >= timeToLiveMs);
    watch.close();
    assert.equal((await server.get(`${events}/left`)).status, 404);
    assert.equal((await server.get(`${configMaps}/stays`)).status, 200);
    assert.equal((await server.get('/api/v1/namespaces/default')).status, 200);
  });

  test('go on a server that was started after they were written', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'orch-test-'));
    try {
      {
        await using before = await OrchProcess.start({ dataDir });
        await report(before, 'old');
        await before.stop();
      }
      await using server = await OrchProcess.start({ dataDir, flags: ['--event-ttl=1s'] });
      await until(async () => (await server.get(`${events}/old`)).status === 404, 'the event stays');
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  test('go once where several servers share a store', { skip: etcdMissing }, async () => {
    const etcd = await startEtcd();
    try {
      const flags = [`--etcd-servers=${etcd.endpoint}`, '--event-ttl=1500ms'];
      await using one = await OrchProcess.start({ flags });
      await using other = await OrchProcess.start({ flags });
      const watches = [await openWatch(one, events), await openWatch(other, events)];
      for (const [server, name] of [
        [one, 'a'],
        [other, 'b'],
      ] as const) {
        await report(server, name);
        for (const watch of watches) await watch.until(saw(`DELETED ${name}`));
      }
      for (const watch of watches) {
        watch.close();
        assert.deepEqual(watch.events.map(shown), ['ADDED a', 'DELETED a', 'ADDED b', 'DELETED b']);
      }
    } finally {
      await etcd.stop();
    }
  });
});
