import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { type Logger, silentLogger } from '../../src/base/logger.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { type ApiClient, isAbsence } from '../../src/client/api-client.ts';
import { orch } from '../../src/dialect/orch.ts';
import { serverUser } from '../../src/server/upkeep/bootstrap.ts';
import { DefaultServiceRange } from '../../src/server/upkeep/default-service-range.ts';
import { serverForSuite } from '../support/in-process-server.ts';

const collection = '/apis/networking.orch.io/v1beta1/servicecidrs';
const path = `${collection}/orch`;
const ranges = ['10.0.0.0/24', 'fd00::/112'];
const condition = { type: 'Ready', status: 'True', message: 'orch default Service CIDR is ready', reason: '' };

interface Shown {
  readonly spec: { readonly cidrs: readonly string[] };
  readonly status?: { readonly conditions?: readonly Readonly<Record<string, string>>[] };
}

describe('the default ServiceCIDR', () => {
  const running = serverForSuite(undefined, { runtimeConfig: new Map([['networking.orch.io/v1beta1', true]]) });
  const client = (): ApiClient => running.server.clientAs(serverUser, 'test');
  const keeper = (logger: Logger = silentLogger) =>
    new DefaultServiceRange({
      client: client(),
      dialect: orch,
      clock: new ManualClock(),
      logger,
      ranges,
    });
  const shown = async (): Promise<Shown> => (await client().get(path)) as unknown as Shown;
  const conditionsOf = ({ status }: Shown) => (status?.conditions ?? []).map(({ lastTransitionTime, ...rest }) => rest);

  beforeEach(async () => {
    await client()
      .delete(path)
      .catch((error: unknown) => assert.ok(isAbsence(error)));
  });

  test('is made, ready, and stays as it is', async () => {
    await keeper().sync();
    const made = await shown();
    assert.deepEqual(made.spec.cidrs, ranges);
    assert.deepEqual(conditionsOf(made), [condition]);
    await keeper().sync();
    assert.deepEqual(await shown(), made);
  });

  for (const [what, cidrs, conditions, after] of [
    ['without a condition is called ready', ranges, [], [condition]],
    ['of other ranges is left alone', ['10.9.0.0/16'], [], []],
    [
      'that somebody calls unready is left alone',
      ranges,
      [{ ...condition, status: 'False', message: 'not yet', lastTransitionTime: '2026-01-01T00:00:00Z' }],
      [{ ...condition, status: 'False', message: 'not yet' }],
    ],
  ] as const) {
    test(`one ${what}`, async () => {
      const made = await client().create(collection, { metadata: { name: 'orch' }, spec: { cidrs } });
      if (conditions.length > 0) await client().update(`${path}/status`, { ...made, status: { conditions } });
      await keeper().sync();
      assert.deepEqual(conditionsOf(await shown()), after);
      assert.deepEqual((await shown()).spec.cidrs, cidrs);
    });
  }

  test('one of other ranges is told of in the log, once', async () => {
    await client().create(collection, { metadata: { name: 'orch' }, spec: { cidrs: ['10.9.0.0/16'] } });
    const warned: string[] = [];
    const kept = keeper({ ...silentLogger, warn: (text) => void warned.push(text) });
    for (let round = 0; round < 3; round++) await kept.sync();
    assert.deepEqual(warned, ['the default ServiceCIDR has other ranges than the configuration']);
  });

  test('one that is being deleted is left alone', async () => {
    await client().create(collection, {
      metadata: { name: 'orch', finalizers: ['x.io/held'] },
      spec: { cidrs: ranges },
    });
    await client().delete(path);
    await keeper().sync();
    assert.deepEqual(conditionsOf(await shown()), []);
    await client().mergePatch(path, { metadata: { finalizers: null } });
  });
});
