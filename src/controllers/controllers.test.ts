import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chooseControllers, controllerNames } from './controllers.ts';

const collector = 'garbage-collector-controller';
const namespace = 'namespace-controller';

describe('controllers selected by a list', () => {
  for (const [items, expected] of [
    [['*'], controllerNames],
    [[], []],
    [['namespace'], [namespace]],
    [
      ['namespace-controller', 'garbagecollector'],
      [collector, namespace],
    ],
    [['*', '-garbagecollector'], controllerNames.filter((name) => name !== collector)],
    [['-garbage-collector-controller', '*'], controllerNames.filter((name) => name !== collector)],
    [['-garbagecollector'], []],
    [['*', 'namespace'], controllerNames],
    // The first match wins.
    [['namespace', '-namespace'], [namespace]],
    [['-namespace', 'namespace-controller'], []],
  ] as const) {
    it(JSON.stringify(items), () => assert.deepEqual(chooseControllers(items), expected));
  }

  for (const item of ['nonsense', '-nonsense', '', '-', '--namespace', '**']) {
    it(`${JSON.stringify(item)} is refused`, () =>
      assert.throws(
        () => chooseControllers(['*', item]),
        /is no controller; there are garbage-collector-controller, /,
      ));
  }
});
