import assert from 'node:assert/strict';
import { it } from 'node:test';
import { limits } from '../../base/limits.ts';
import { silentLogger } from '../../base/logger.ts';
import { systemRandom } from '../../base/random.ts';
import { type Clock, ManualClock } from '../../base/time/clock.ts';
import { until } from '../../base/waits-fixture.ts';
import { ApiClient } from '../../client/api-client.ts';
import { KeptEvents } from '../../client/event-recorder-fixture.ts';
import { orch } from '../../dialect/orch.ts';
import { formatTime } from '../../meta/time.ts';
import { ScriptedWrites } from '../certificate-requests/scripted-writes-fixture.ts';
import { startTokenCleaner } from './token-cleaner.ts';

it('the cleaner of tokens looks again when the wall clock may have been set forward', async () => {
  const dayMs = 24 * 3600_000;
  const timers = new ManualClock();
  let aheadMs = 0;
  const clock: Clock = {
    now: () => timers.now() + aheadMs,
    monotonic: () => timers.monotonic(),
    after: (delayMs, run) => timers.after(delayMs, run),
  };
  const expiration = Buffer.from(formatTime(timers.now() + dayMs)).toString('base64');
  const server = new ScriptedWrites([
    {
      ...{ apiVersion: 'v1', kind: 'Secret', type: 'bootstrap.orch.io/token', data: { expiration } },
      metadata: { name: 'bootstrap-token-abcdef', namespace: 'orch-system', uid: 'u', resourceVersion: '5' },
    },
  ]);
  const client = new ApiClient(server, 'controllers');
  const running = startTokenCleaner({
    ...{ name: 'test', client, reader: client, events: new KeptEvents(), rootAuthority: '', dialect: orch, clock },
    ...{ random: systemRandom, logger: silentLogger },
  });
  await until(() => timers.pending === 1, 'it waits for the end of the token');
  server.answerWrite(200, {});
  aheadMs = dayMs;
  timers.advance(limits.controllerTimerMsMax);
  await until(() => server.writes.length === 1, 'it is deleted');
  assert.deepEqual(server.writes, ['DELETE /api/v1/namespaces/orch-system/secrets/bootstrap-token-abcdef']);
  running.close();
  assert.equal(timers.pending, 0);
});
