import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../base/logger.ts';
import { systemRandom } from '../base/random.ts';
import { systemClock } from '../base/time/clock.ts';
import { until } from '../base/waits-fixture.ts';
import { ApiClient } from '../client/api-client.ts';
import { orch } from '../dialect/orch.ts';
import { publishedControllers } from '../dialect/published-controllers.ts';
import {
  type ControllerName,
  chooseControllers,
  controllerNames,
  isOffByDefault,
  startControllers,
} from './controllers.ts';

const collector = 'garbage-collector-controller';
const namespace = 'namespace-controller';
const cleaner = 'token-cleaner-controller';
/** What kube-controller-manager runs of its own accord, and this program where it is asked to. */
const workloads: readonly ControllerName[] = [
  'deployment-controller',
  'daemonset-controller',
  'replicaset-controller',
  'replicationcontroller-controller',
  'statefulset-controller',
  'endpoints-controller',
  'endpointslice-controller',
  'disruption-controller',
  'job-controller',
  'cronjob-controller',
  'ttl-after-finished-controller',
  'pod-garbage-collector-controller',
];
const byDefault = controllerNames.filter((name) => !isOffByDefault(name));

describe('controllers selected by a list', () => {
  for (const [items, expected] of [
    [['*'], byDefault],
    [[], []],
    [['namespace'], [namespace]],
    [['serving-clustertrustbundle-publisher'], [publishedControllers.servingBundlePublisher]],
    [
      ['namespace-controller', 'garbagecollector'],
      [collector, namespace],
    ],
    [['*', '-garbagecollector'], byDefault.filter((name) => name !== collector)],
    [['-garbage-collector-controller', '*'], byDefault.filter((name) => name !== collector)],
    [['-garbagecollector'], []],
    [['*', 'namespace'], byDefault],
    [
      ['*', 'tokencleaner'],
      [...byDefault, cleaner],
    ],
    [['token-cleaner-controller'], [cleaner]],
    [['*', '-tokencleaner'], byDefault],
    [
      ['*', 'bootstrapsigner', 'tokencleaner'],
      [...byDefault, 'bootstrap-signer-controller', cleaner],
    ],
    [['workloads'], workloads],
    [
      ['*', 'workloads', 'tokencleaner'],
      [...byDefault, cleaner, ...workloads],
    ],
    [['-replicaset', 'workloads'], workloads.filter((name) => name !== 'replicaset-controller')],
    [['workloads', '-replicaset-controller'], workloads.filter((name) => name !== 'replicaset-controller')],
    [['replicaset'], ['replicaset-controller']],
    // The first match wins.
    [['namespace', '-namespace'], [namespace]],
    [['-namespace', 'namespace-controller'], []],
  ] as const) {
    it(JSON.stringify(items), () => assert.deepEqual(chooseControllers(items), expected));
  }

  it('those for bootstrap tokens are off by default, as published, and those of workloads', () =>
    assert.deepEqual(controllerNames.filter(isOffByDefault), [
      ...['bootstrap-signer-controller', cleaner],
      ...workloads,
      'simulated-nodes',
    ]));

  for (const item of ['nonsense', '-nonsense', '', '-', '--namespace', '**', '-workloads']) {
    it(`${JSON.stringify(item)} is refused`, () =>
      assert.throws(
        () => chooseControllers(['*', item]),
        /is no controller; there are garbage-collector-controller, .*simulated-nodes; and these names of several: workloads$/,
      ));
  }
});

describe('controllers that start', () => {
  /** Starts them, and counts their requests by turn of the event loop. */
  function start(): { readonly turns: readonly number[]; readonly running: { close(): void } } {
    const turns: number[] = [0];
    let ended = false;
    const turn = (): void => {
      turns.push(0);
      if (!ended) setImmediate(turn);
    };
    setImmediate(turn);
    const client = new ApiClient(
      {
        send() {
          turns.push((turns.pop() ?? 0) + 1);
          return new Promise(() => {});
        },
      },
      'test',
    );
    const context = { client, clock: systemClock, random: systemRandom, logger: silentLogger, dialect: orch };
    const running = startControllers(byDefault, { ...context, rootAuthority: '' });
    const close = (): void => {
      ended = true;
      running.close();
    };
    return { turns, running: { close } };
  }
  const sum = (turns: readonly number[]): number => turns.reduce((all, each) => all + each, 0);

  it('begin in turns of their own', async () => {
    const { turns, running } = start();
    try {
      assert.equal(sum(turns), 0, 'whoever starts them waits for none');
      await until(() => sum(turns) > 10, 'they do not begin');
      assert.ok(Math.max(...turns) < sum(turns) / 2, `requests by turn: ${turns.join()}`);
    } finally {
      running.close();
    }
  });

  it('do not begin once they were stopped', async () => {
    const { turns, running } = start();
    await until(() => sum(turns) > 0, 'they do not begin');
    const before = sum(turns);
    running.close();
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(sum(turns), before);
  });
});
