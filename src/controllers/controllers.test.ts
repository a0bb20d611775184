import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { publishedControllers } from '../dialect/published-controllers.ts';
import { type ControllerName, chooseControllers, controllerNames, isOffByDefault } from './controllers.ts';

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
        /is no controller; there are garbage-collector-controller, /,
      ));
  }
});
