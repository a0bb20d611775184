import assert from 'node:assert/strict';
import { afterEach, beforeEach } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type Clock, systemClock } from '../../src/base/time/clock.ts';
import { ApiClient } from '../../src/client/api-client.ts';
import { type ControllersContext, chooseControllers, startControllers } from '../../src/controllers/controllers.ts';
import { orch } from '../../src/dialect/orch.ts';
import { RegistryFixture } from '../../src/registry/registry-fixture.ts';
import { RegistryTransport } from './registry-transport.ts';

interface RegistryControllers {
  readonly fixture: RegistryFixture;
  /** The way of the controllers to the registry. */
  readonly transport: RegistryTransport;
  /** Starts controllers by their names, until the test ends. */
  start(names: readonly string[], more?: Partial<ControllersContext>): void;
  /** Stops them earlier, as a program does that ends. */
  stop(): void;
}

/** A registry for each test of the calling file, and controllers over it. The test may drive the clock of both. */
export function controllersForEach(clockOf: () => Clock = () => systemClock): RegistryControllers {
  let opened: Pick<RegistryControllers, 'fixture' | 'transport'> | undefined;
  let running: { close(): void } | undefined;
  beforeEach(async () => {
    const fixture = await RegistryFixture.open({ clock: clockOf() });
    opened = { fixture, transport: new RegistryTransport(fixture) };
  });
  afterEach(async () => {
    running?.close();
    running = undefined;
    await opened?.fixture[Symbol.asyncDispose]();
  });
  const there = () => opened ?? assert.fail('no test runs');
  return {
    get fixture() {
      return there().fixture;
    },
    get transport() {
      return there().transport;
    },
    start(names, more = {}) {
      running = startControllers(chooseControllers(names), {
        client: new ApiClient(there().transport, 'controllers'),
        ...{
          clock: there().fixture.clock,
          random: systemRandom,
          logger: silentLogger,
          dialect: orch,
          rootAuthority: '',
        },
        ...more,
      });
    },
    stop() {
      running?.close();
      running = undefined;
    },
  };
}
