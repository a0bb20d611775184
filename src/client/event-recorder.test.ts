import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { silentLogger } from '../base/logger.ts';
import { systemRandom } from '../base/random.ts';
import { ManualClock } from '../base/time/clock.ts';
import { until } from '../base/waits-fixture.ts';
import { ApiClient } from './api-client.ts';
import type { ReportedEvent } from './event-correlation.ts';
import { ApiEventRecorder } from './event-recorder.ts';
import { ScriptedServer } from './scripted-server-fixture.ts';

const about = { apiVersion: 'v1', kind: 'Pod', namespace: 'n', name: 'p', uid: 'u' };
const event = (message = 'm', more: Partial<ReportedEvent> = {}): ReportedEvent => ({
  ...{ about, type: 'Warning', reason: 'Failed', message },
  ...more,
});
const status = (code: number, reason: string) => ({ kind: 'Status', status: 'Failure', code, reason, message: reason });

let server: ScriptedServer;
let clock: ManualClock;
let recorder: ApiEventRecorder;
let warnings: number;

beforeEach(() => {
  server = new ScriptedServer();
  clock = new ManualClock(Date.UTC(2026, 0, 1));
  warnings = 0;
  recorder = new ApiEventRecorder({
    client: new ApiClient(server, 'test'),
    clock,
    random: systemRandom,
    logger: { ...silentLogger, warn: () => (warnings += 1) },
    component: 'some-controller',
  });
});
afterEach(() => recorder.close());

const requests = (count: number): Promise<void> =>
  until(
    () => server.requests.length === count,
    () => server.requests.join(', '),
  );
const body = (at: number) => JSON.parse(String(server.sent[at]?.body));

describe('an event recorder', () => {
  it('stores an event in the older form, as client-go', async () => {
    server.answer(201, {});
    recorder.record(event());
    await requests(1);
    assert.equal(server.requests[0], 'POST /api/v1/namespaces/n/events');
    const { metadata, ...rest } = body(0);
    assert.match(metadata.name, /^p\.[0-9a-f]{16}$/);
    assert.deepEqual(rest, {
      apiVersion: 'v1',
      kind: 'Event',
      involvedObject: about,
      reason: 'Failed',
      message: 'm',
      type: 'Warning',
      count: 1,
      source: { component: 'some-controller' },
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:00Z',
      reportingComponent: 'some-controller',
      reportingInstance: '',
    });
  });

  it('patches the count of a repeated event, and makes it anew when it has expired', async () => {
    server.answer(201, {});
    server.answer(200, {});
    server.answer(404, status(404, 'NotFound'));
    server.answer(201, {});
    recorder.record(event());
    await requests(1);
    const path = `/api/v1/namespaces/n/events/${body(0).metadata.name}`;
    clock.advance(1_000);
    recorder.record(event());
    await requests(2);
    assert.equal(server.requests[1], `PATCH ${path}`);
    assert.deepEqual(body(1), { count: 2, lastTimestamp: '2026-01-01T00:00:01Z', message: 'm' });
    recorder.record(event());
    await requests(4);
    assert.deepEqual(
      [body(3).count, body(3).firstTimestamp, body(3).metadata.name],
      [3, '2026-01-01T00:00:00Z', body(0).metadata.name],
    );
  });

  it('stores events of cluster-scoped objects in the namespace default', async () => {
    server.answer(201, {});
    const node = { apiVersion: 'v1', kind: 'Node', name: 'a' };
    recorder.record(event('m', { about: node }));
    await requests(1);
    assert.equal(server.requests[0], 'POST /api/v1/namespaces/default/events');
    assert.deepEqual([body(0).metadata.namespace, body(0).involvedObject], ['default', node]);
  });

  it('sends the last count of what waits', async () => {
    recorder.record(event('first'));
    for (let times = 0; times < 5; times++) recorder.record(event('second'));
    server.answer(201, {});
    server.answer(404, status(404, 'NotFound'));
    server.answer(201, {});
    await requests(3);
    assert.deepEqual(
      server.requests.map((each) => each.split(' ')[0]),
      ['POST', 'PATCH', 'POST'],
    );
    assert.deepEqual([body(2).message, body(2).count], ['second', 5]);
  });

  for (const [code, reason] of [
    [403, 'Forbidden'],
    [422, 'Invalid'],
    [404, 'NotFound'],
  ] as const) {
    it(`gives up an event that is refused with ${code}, and warns once`, async () => {
      server.answer(code, status(code, reason));
      server.answer(code, status(code, reason));
      server.answer(201, {});
      for (const message of ['a', 'b', 'c']) recorder.record(event(message));
      await requests(3);
      assert.deepEqual([body(0).message, body(1).message, body(2).message], ['a', 'b', 'c']);
      assert.equal(warnings, 1);
    });
  }

  for (const [what, fail] of [
    ['no answer', () => server.drop()],
    ['429', () => server.answer(429, status(429, 'TooManyRequests'))],
    ['503', () => server.answer(503, status(503, 'ServiceUnavailable'))],
  ] as const) {
    it(`tries again after ${what}, a limited number of times`, async () => {
      recorder.record(event('a'));
      recorder.record(event('b'));
      for (let attempt = 1; attempt <= limits.eventAttemptsMax; attempt++) {
        fail();
        await until(() => server.requests.length >= attempt, 'no attempt');
        if (attempt === limits.eventAttemptsMax) break;
        await until(() => clock.pending > 0, 'no next attempt');
        clock.advance(limits.eventRetryMs);
      }
      await requests(limits.eventAttemptsMax + 1);
      assert.equal(body(limits.eventAttemptsMax).message, 'b');
      assert.equal(warnings, 1);
    });
  }

  it('takes an event as stored that an earlier attempt has stored', async () => {
    server.drop();
    recorder.record(event());
    await requests(1);
    await until(() => clock.pending > 0);
    server.answer(409, status(409, 'AlreadyExists'));
    clock.advance(limits.eventRetryMs);
    await requests(2);
    assert.equal(warnings, 0);
  });

  it('drops events beyond a limit while the server does not answer', async () => {
    const objects = limits.eventsWaitingMax + 10;
    for (let at = 0; at < objects; at++) recorder.record(event('m', { about: { ...about, uid: String(at) } }));
    assert.equal(warnings, 1);
    for (let at = 0; at < objects; at++) server.answer(201, {});
    // One is being sent while the others wait.
    await requests(limits.eventsWaitingMax + 1);
    recorder.record(event('last'));
    await requests(limits.eventsWaitingMax + 2);
  });

  it('sends nothing once it is closed', async () => {
    recorder.record(event('a'));
    recorder.record(event('b'));
    await requests(1);
    recorder.close();
    recorder.record(event('c'));
    server.answer(201, {});
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(server.requests.length, 1);
    assert.equal(clock.pending, 0);
  });
});

describe('before a recorder is closed', () => {
  it('it can be waited for, for a while', async () => {
    await recorder.flush(1_000);
    assert.equal(clock.pending, 0);
    recorder.record(event());
    const written = recorder.flush(1_000);
    server.answer(201, {});
    await written;
    assert.equal(clock.pending, 0);
    recorder.record(event('other'));
    const given = recorder.flush(1_000);
    clock.advance(1_000);
    await given;
    assert.equal(server.requests.length, 2);
  });
});
