import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { applyDefaults } from '../../schema/defaults.ts';
import type { Kind } from '../kind.ts';
import { createLater, read, row, type Sent, updateLater } from '../strategy-fixture.ts';
import { mutatingAdmissionPolicies } from './mutating-admission-policy.ts';

const [policy, binding] = mutatingAdmissionPolicies(orch) as [Kind, Kind];

const rule = { operations: ['CREATE', 'UPDATE', 'CONNECT'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
const matched = { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {}, resourceRules: [rule] };
const apply = (expression: string) => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });
const patch = (expression: string) => ({ patchType: 'JSONPatch', jsonPatch: { expression } });
const valid = {
  failurePolicy: 'Fail',
  reinvocationPolicy: 'Never',
  matchConstraints: matched,
  mutations: [apply('Object{}')],
};

type Rows = readonly (readonly [what: string, spec: object, errors: readonly string[]])[];

function testErrors(kind: Kind, base: object, rows: Rows): void {
  describe(`${kind.kind}: errors`, () => {
    for (const [what, spec, errors] of rows) {
      it(what, async () => {
        const found = await createLater(kind, { spec: { ...base, ...spec } });
        assert.deepEqual(
          found.errors,
          errors.map((error) => `spec.${error}`),
        );
      });
    }
  });
}

const notMutable = (path: string, operation: string): string =>
  `${path}.resourceRules.operations: Unsupported value: "${operation}": supported values: "*", "CONNECT", "CREATE", "UPDATE"`;

testErrors(policy, valid, [
  ['valid', {}, []],
  [
    'an empty spec',
    Object.fromEntries(Object.keys(valid).map((field) => [field, undefined])),
    [
      'failurePolicy: Required value',
      'matchConstraints: Required value',
      'mutations: Required value: mutations must contain at least one item',
      'reinvocationPolicy: Required value',
    ],
  ],
  [
    'choices',
    { failurePolicy: 'x', reinvocationPolicy: 'x', mutations: [{ patchType: 'x' }] },
    [
      'failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"',
      'mutations[0].patchType: Unsupported value: "x": supported values: "ApplyConfiguration", "JSONPatch"',
      'reinvocationPolicy: Unsupported value: "x": supported values: "IfNeeded", "Never"',
    ],
  ],
  [
    'no rules',
    { matchConstraints: { ...matched, resourceRules: [] } },
    ['matchConstraints.resourceRules: Required value'],
  ],
  [
    'deletions',
    { matchConstraints: { ...matched, resourceRules: [{ ...rule, operations: ['DELETE'] }] } },
    [notMutable('matchConstraints', 'DELETE')],
  ],
  ['every operation', { matchConstraints: { ...matched, resourceRules: [{ ...rule, operations: ['*'] }] } }, []],
  [
    'no patchType',
    { mutations: [{ applyConfiguration: { expression: 'Object{}' } }] },
    ['mutations[0].patchType: Required value'],
  ],
  [
    'the other kind of patch',
    {
      mutations: [
        { ...apply('Object{}'), patchType: 'JSONPatch' },
        { ...patch('1'), patchType: 'ApplyConfiguration' },
      ],
    },
    [
      'mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch',
      'mutations[0].applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch',
      'mutations[1].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration',
      'mutations[1].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
    ],
  ],
  [
    'empty expressions',
    { mutations: [apply(' '), patch('')] },
    ['mutations[0].applyConfiguration.expression: Required value', 'mutations[1].jsonPatch.expression: Required value'],
  ],
  [
    'expressions of another type',
    { mutations: [apply('Object.spec{}'), patch('[1]')] },
    [
      'mutations[0].applyConfiguration.expression: Invalid value: "Object.spec{}": must evaluate to Object but got Object.spec',
      'mutations[1].jsonPatch.expression: Invalid value: "[1]": must evaluate to list(JSONPatch) but got list(int)',
    ],
  ],
  [
    'expressions use params and variables',
    {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConditions: [{ name: 'a', expression: 'params.x' }].map((each) => ({
        ...each,
        expression: 'params.x == 1',
      })),
      variables: [{ name: 'v', expression: "'x'" }],
      mutations: [
        apply('Object{metadata: Object.metadata{labels: {variables.v: string(params.x)}}}'),
        patch('[JSONPatch{op: "add", path: "/" + jsonpatch.escapeKey(variables.v), value: params.x}]'),
      ],
    },
    [],
  ],
  [
    'paramKind, conditions and variables',
    {
      paramKind: { apiVersion: 'v1' },
      matchConditions: [{ name: '', expression: '1' }],
      variables: [{ name: '1', expression: 'true' }],
    },
    [
      'paramKind.kind: Required value',
      'matchConditions[0].name: Required value',
      'variables[0].name: Invalid value: "1": name is not a valid CEL identifier',
      'matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int',
    ],
  ],
]);

const ref = { name: 'x', parameterNotFoundAction: 'Deny' };
testErrors(binding, { policyName: 'p' }, [
  ['valid', { paramRef: ref, matchResources: { ...matched, resourceRules: [] } }, []],
  ['no policy', { policyName: undefined }, ['policyName: Required value']],
  [
    'paramRef',
    { paramRef: { ...ref, name: '' } },
    ['paramRef: Required value: one of name or selector must be specified'],
  ],
  [
    'deletions',
    { matchResources: { ...matched, resourceRules: [{ ...rule, operations: ['DELETE'] }] } },
    [notMutable('matchResources', 'DELETE')],
  ],
]);

describe('MutatingAdmissionPolicy', () => {
  it('an update does not look at conditions that are as they were', async () => {
    const spec = { ...valid, matchConditions: [{ name: 'a', expression: 'nothing' }] };
    const stored: Sent = { kind: policy.kind, metadata: { name: 'one' }, spec };
    assert.deepEqual(
      (await updateLater(policy, stored, { spec: { ...spec, reinvocationPolicy: 'IfNeeded' } })).errors,
      [],
    );
  });

  it('defaults', () => {
    const defaultsOf = (kind: Kind, spec: object): unknown => {
      const object = read(kind, { spec });
      applyDefaults(kind.schema, object);
      return JSON.parse(JSON.stringify(object['spec']));
    };
    const { resourceRules: _rules, ...match } = matched;
    assert.deepEqual(defaultsOf(policy, { matchConstraints: {} }), { failurePolicy: 'Fail', matchConstraints: match });
    assert.deepEqual(defaultsOf(binding, { paramRef: { name: 'x' } }), { paramRef: ref });
  });

  it('columns', () => {
    const metadata = { creationTimestamp: '2026-01-05T00:00:00Z' };
    assert.deepEqual(row(policy, { metadata, spec: valid }), {
      Name: 'one',
      Mutations: 1,
      ParamKind: '<unset>',
      Age: '5d',
    });
    assert.deepEqual(row(binding, { metadata, spec: { policyName: 'p' } }), {
      Name: 'one',
      PolicyName: 'p',
      ParamRef: '<unset>',
      Age: '5d',
    });
  });
});
