import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { until, within } from '../../src/base/waits-fixture.ts';
import { ApiClient } from '../../src/client/api-client.ts';
import { defaultTiming } from '../../src/client/leader-election.ts';
import { runAsLeader } from '../../src/controllers/run-controllers.ts';
import { orch } from '../../src/dialect/orch.ts';
import { RegistryFixture } from '../../src/registry/registry-fixture.ts';
import { RegistryTransport } from '../support/registry-transport.ts';

/** A clock whose time passes without its timers: after a pause, the process reads from the network first. */
class PausedClock extends ManualClock {
  /** For how long the process was paused; the time of day passes also where the whole machine slept. */
  pausedMs = { process: 0, machine: 0 };

  override monotonic(): number {
    return super.monotonic() + this.pausedMs.process;
  }

  override now(): number {
    return super.now() + this.pausedMs.process + this.pausedMs.machine;
  }
}

for (const [what, who, slept] of [
  ['process was paused', 'program', 'process'],
  ['process was paused', 'accounts', 'process'],
  ['machine slept', 'program', 'machine'],
] as const) {
  it(`controllers that lead send nothing once their lease has run out while the ${what}: as ${who}`, async () => {
    await using fixture = await RegistryFixture.open();
    const transport = new RegistryTransport(fixture);
    const client = new ApiClient(transport, 'controllers');
    const clock = new PausedClock();
    const stop = new AbortController();
    await fixture.object('POST', '/api/v1/namespaces', { metadata: { name: 'orch-system' } });
    const context = {
      ...{ client, clock, random: systemRandom, logger: silentLogger, dialect: orch, rootAuthority: '' },
      ...(who === 'accounts' && { clientOf: () => client }),
    };
    const leading = runAsLeader(
      ['serviceaccount-controller'],
      context,
      { random: systemRandom, hostname: 'host', timing: defaultTiming, namespace: 'orch-system', name: 'manager' },
      stop.signal,
    );
    const posts = (namespace: string): number =>
      transport.requests.filter((each) => each === `POST /api/v1/namespaces/${namespace}/serviceaccounts`).length;
    await until(() => posts('orch-system') === 1, 'it does not lead');
    clock.pausedMs[slept] = defaultTiming.leaseMs;
    await fixture.object('POST', '/api/v1/namespaces', { metadata: { name: 'late' } });
    // The attempt itself ends the term.
    await within(leading, 'it leads on');
    assert.equal(posts('late'), 0);
  });
}
