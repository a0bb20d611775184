import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { silentLogger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import { type Clock, ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { ApiClient } from '../../client/api-client.ts';
import { KeptEvents } from '../../client/event-recorder-fixture.ts';
import { orch } from '../../dialect/orch.ts';
import { formatTime } from '../../meta/time.ts';
import { startCertificateRequestCleaner } from './cleaner.ts';
import { ScriptedWrites } from './scripted-writes-fixture.ts';

const hourMs = 3600_000;
const start = Date.UTC(2026, 0, 1);
const path = '/apis/certificates.orch.io/v1/certificatesigningrequests';
const pending = (name: string, version: string) => ({
  ...{ apiVersion: 'certificates.orch.io/v1', kind: 'CertificateSigningRequest' },
  metadata: { name, uid: `uid-${name}`, resourceVersion: version, creationTimestamp: formatTime(start) },
});
const denied = (name: string, version: string, atMs: number) => ({
  ...pending(name, version),
  status: { conditions: [{ type: 'Denied', status: 'True', lastUpdateTime: formatTime(atMs) }] },
});
const status = (code: number, reason: string) => ({ kind: 'Status', apiVersion: 'v1', metadata: {}, code, reason });

describe('the cleaner', () => {
  it('deletes what it has looked at, and nothing that has changed meanwhile', async () => {
    const server = new ScriptedWrites([pending('a', '5')]);
    const clock = new ManualClock(start + 24 * hourMs);
    const client = new ApiClient(server, 'controllers');
    const running = startCertificateRequestCleaner({
      ...{ name: 'test', client, reader: client, events: new KeptEvents(), rootAuthority: '', dialect: orch, clock },
      ...{ random: systemRandom, logger: silentLogger },
    });
    /** Preconditions of the deletions of a request. */
    const deletions = (name: string): readonly unknown[] =>
      server.writes.flatMap((write, index) =>
        write === `DELETE ${path}/${name}` ? [(server.bodies[index] as { preconditions: object }).preconditions] : [],
      );
    const deleted = (name: string, count: number): Promise<void> =>
      until(
        () => {
          clock.advance(0);
          return deletions(name).length === count;
        },
        () => `${count} deletions of ${name}: ${server.writes}`,
      );
    await deleted('a', 1);
    server.answerWrite(409, status(409, 'Conflict'));
    server.watch.event('MODIFIED', denied('a', '6', clock.now()));
    // Once the other is deleted, the change of the first has been seen too.
    server.watch.event('ADDED', denied('b', '7', start));
    await deleted('b', 1);
    assert.equal(deletions('a').length, 1, 'it was denied just now');
    server.answerWrite(200, {});
    clock.advance(hourMs);
    await deleted('a', 2);
    assert.deepEqual(deletions('a'), [
      { uid: 'uid-a', resourceVersion: '5' },
      { uid: 'uid-a', resourceVersion: '6' },
    ]);
    running.close();
    assert.equal(clock.pending, 0);
  });

  it('looks again when the wall clock may have been set forward', async () => {
    const server = new ScriptedWrites([denied('a', '5', start - hourMs), pending('b', '6')]);
    const timers = new ManualClock(start);
    let aheadMs = 0;
    const clock: Clock = {
      now: () => timers.now() + aheadMs,
      monotonic: () => timers.monotonic(),
      after: (delayMs, run) => timers.after(delayMs, run),
    };
    const client = new ApiClient(server, 'controllers');
    const running = startCertificateRequestCleaner({
      ...{ name: 'test', client, reader: client, events: new KeptEvents(), rootAuthority: '', dialect: orch, clock },
      ...{ random: systemRandom, logger: silentLogger },
    });
    const deleted = (name: string): Promise<void> =>
      until(
        () => {
          timers.advance(0);
          return server.writes.includes(`DELETE ${path}/${name}`);
        },
        () => `${name} is deleted: ${server.writes}`,
      );
    server.answerWrite(200, {});
    await deleted('a');
    aheadMs = 24 * hourMs;
    server.answerWrite(200, {});
    timers.advance(limits.controllerTimerMsMax);
    await deleted('b');
    running.close();
  });
});
