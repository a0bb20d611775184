import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject } from '../meta/api-object.ts';
import { AdmissionConfigurations } from './admission-configurations.ts';
import { attributesOf } from './attributes-fixture.ts';

const policies = 'validatingadmissionpolicies';
const bindings = 'validatingadmissionpolicybindings';
const everything = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }];

const configuration = (name: string, resourceVersion: string, fields: object): ApiObject => ({
  ...{ apiVersion: 'v1', kind: 'Any', ...fields },
  metadata: { name, uid: `uid-${name}`, resourceVersion },
});

const policyOf = (name: string, resourceVersion = '1'): ApiObject =>
  configuration(name, resourceVersion, {
    spec: {
      matchConstraints: { resourceRules: everything },
      matchConditions: [{ name: 'c', expression: 'true' }],
      validations: [{ expression: 'true' }],
    },
  });

const bindingOf = (policyName: string): ApiObject =>
  configuration(policyName, '1', { spec: { policyName, validationActions: ['Deny'] } });

function configurationsOf(...names: readonly string[]): AdmissionConfigurations {
  const configurations = new AdmissionConfigurations();
  for (const name of names) {
    configurations.put(policies, policyOf(name));
    configurations.put(bindings, bindingOf(name));
  }
  return configurations;
}

const found = ({ validatingPolicies }: AdmissionConfigurations) =>
  validatingPolicies.find(attributesOf({ namespace: 'n' })).map(({ item }) => item);

const expressionsOf = (configurations: AdmissionConfigurations, name: string) =>
  found(configurations).find((policy) => policy.name === name)?.expressions ?? assert.fail();

describe('what is compiled of a policy', () => {
  it('is kept when another one changes, or what is served', () => {
    const configurations = configurationsOf('a', 'b');
    const before = expressionsOf(configurations, 'a');
    const other = expressionsOf(configurations, 'b');
    configurations.put(policies, policyOf('b', '2'));
    configurations.servedChanged();
    assert.equal(expressionsOf(configurations, 'a'), before);
    assert.notEqual(expressionsOf(configurations, 'b'), other);
  });

  for (const [what, change, isKept] of [
    ['the status', { status: { observedGeneration: 1 } }, true],
    ['labels', { metadata: { labels: { a: 'b' } } }, true],
    ['the rules', { metadata: { generation: 2 }, spec: { validations: [{ expression: 'false' }] } }, false],
    ['the rules, of the same generation', { spec: { validations: [{ expression: 'false' }] } }, false],
    ['the object itself', { metadata: { uid: 'other' } }, false],
  ] as const) {
    it(`is ${isKept ? '' : 'not '}kept when a write changes ${what}`, () => {
      const written = (
        resourceVersion: string,
        { metadata = {}, spec = {}, ...rest }: Partial<Record<string, object>>,
      ) => {
        const policy = policyOf('a', resourceVersion);
        return {
          ...{ ...policy, ...rest },
          metadata: { ...policy.metadata, generation: 1, ...metadata },
          spec: { ...(policy['spec'] as object), ...spec },
        };
      };
      const configurations = configurationsOf('a');
      configurations.put(policies, written('1', {}));
      const before = expressionsOf(configurations, 'a');
      const { version } = configurations;
      configurations.put(policies, written('2', change));
      assert.equal(expressionsOf(configurations, 'a') === before, isKept);
      assert.equal(configurations.version === version, isKept);
    });
  }

  it('is kept on another thread, which gets copies of all of them', () => {
    const configurations = configurationsOf('a', 'b');
    const remote = new AdmissionConfigurations();
    const replace = () => remote.replace(configurations.version, structuredClone(configurations.data));
    replace();
    const before = expressionsOf(remote, 'a');
    const other = expressionsOf(remote, 'b');
    configurations.put(policies, policyOf('b', '2'));
    replace();
    assert.equal(expressionsOf(remote, 'a'), before);
    assert.notEqual(expressionsOf(remote, 'b'), other);
  });

  it('goes with it there', () => {
    const configurations = configurationsOf('a', 'b');
    const remote = new AdmissionConfigurations();
    remote.replace(configurations.version, structuredClone(configurations.data));
    configurations.remove(policies, 'a');
    remote.replace(configurations.version, structuredClone(configurations.data));
    assert.deepEqual(
      found(remote).map(({ name }) => name),
      ['b'],
    );
  });
});
