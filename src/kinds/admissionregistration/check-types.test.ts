import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { allAtOnce } from '../../base/time/in-slices.ts';
import { authorizerType } from '../../cel/library/authorizer.ts';
import { typeName } from '../../cel/type.ts';
import { orch } from '../../dialect/orch.ts';
import { documentedType } from '../../schema/rules/rule-type.ts';
import { buildStructuralSchema } from '../../schema/structural/structural-schema.ts';
import { customResourceDefinition } from '../apiextensions/custom-resource-definition.ts';
import { lease } from '../coordination/lease.ts';
import { pod } from '../core/pod/pod.ts';
import { secret } from '../core/secret.ts';
import type { Kind } from '../kind.ts';
import { objectMeta } from '../meta/object-meta.ts';
import { checkTypes, type PolicyTypes } from './check-types.ts';
import type { ValidatingPolicySpec } from './validating-policy-schema.ts';

/** Texts are those that kube-apiserver 1.32.3 gives for the same schemas. */

type ObjectType = PolicyTypes['objects'][number];

const text = { type: 'string' };
const integer = { type: 'integer' };
const preserved = { 'x-kubernetes-preserve-unknown-fields': true };
const object = (properties: object, rest: object = {}) => ({ type: 'object', properties, ...rest });

const custom = (kind: string, spec: object): ObjectType => ({
  text: `apps/v1, Kind=${kind}`,
  type: documentedType(buildStructuralSchema(object({ spec: object(spec) }), { objectMeta }), `${kind}1`),
});
const builtIn = (kind: Kind): ObjectType => ({
  text: `/v1, Kind=${kind.kind}`,
  type: documentedType(kind.schema, `${kind.kind}1`),
});

const deployment = custom('Deployment', {
  replicas: integer,
  ratio: { type: 'number' },
  on: { type: 'boolean' },
  port: { 'x-kubernetes-int-or-string': true },
  bytes: { type: 'string', format: 'byte' },
  day: { type: 'string', format: 'date' },
  time: { type: 'string', format: 'date-time' },
  wait: { type: 'string', format: 'duration' },
  list: { type: 'array', items: object({ a: text }) },
  map: { type: 'object', additionalProperties: object({ a: text }) },
  open: { type: 'object', additionalProperties: true },
  kept: object({}, preserved),
  any: preserved,
  anyList: { type: 'array', items: preserved },
  inner: object({ a: text }, { 'x-kubernetes-embedded-resource': true }),
  if: text,
  'a-b': text,
});
const text5 = custom('Texts', { replicas: text });

const warningsOf = (spec: ValidatingPolicySpec, types: PolicyTypes) => allAtOnce(checkTypes(spec, types));
const check = (source: string, ...objects: readonly ObjectType[]): string =>
  warningsOf({ validations: [{ expression: source }] }, { objects })
    .map(({ warning }) => warning)
    .join();

const marked = (source: string, column: number, reason: string): string =>
  `ERROR: <input>:1:${column}: ${reason}\n | ${source}\n | ${'.'.repeat(column - 1)}^\n`;
const noOverload = (name: string, types: string): string =>
  `found no matching overload for '${name}' applied to '${types}'`;

describe('expressions and the type of an object', () => {
  const rows: readonly (readonly [type: ObjectType, source: string, column?: number, reason?: string])[] = [
    [deployment, 'object.spec.replicas > 5'],
    [deployment, 'object.spec.replicaz > 5', 12, "undefined field 'replicaz'"],
    [deployment, 'oldObject.nope == null', 10, "undefined field 'nope'"],
    [deployment, "object.spec.replicas == 'a'", 22, noOverload('_==_', '(int, string)')],
    [deployment, 'object.spec.ratio == 1', 19, noOverload('_==_', '(double, int)')],
    [deployment, 'object.spec.on == 1', 16, noOverload('_==_', '(bool, int)')],
    [deployment, "object.spec.port > 5 && object.spec.port == 'a' && object.spec.port.foo == 1"],
    [deployment, 'object.spec.bytes == 1', 19, noOverload('_==_', '(bytes, int)')],
    [deployment, 'object.spec.day > 5', 17, noOverload('_>_', '(timestamp, int)')],
    [deployment, 'object.spec.time > 5', 18, noOverload('_>_', '(timestamp, int)')],
    [deployment, 'object.spec.wait > 5', 18, noOverload('_>_', '(duration, int)')],
    [deployment, "object.spec.list.all(x, x.b == 'q')", 26, "undefined field 'b'"],
    [deployment, 'object.spec.list[0] == 5', 21, noOverload('_==_', '(Deployment1.spec.list.@idx, int)')],
    [deployment, "object.spec.map['z'] == 5", 22, noOverload('_==_', '(Deployment1.spec.map.@elem, int)')],
    [deployment, 'object.spec == 5', 13, noOverload('_==_', '(Deployment1.spec, int)')],
    [deployment, "object.spec.open['a'] == 5", 17, noOverload('_[_]', '(Deployment1.spec.open, string)')],
    [deployment, 'has(object.spec.open)'],
    [deployment, 'object.spec.kept.foo == 5', 17, "undefined field 'foo'"],
    [deployment, 'object.spec.any == 1', 12, "undefined field 'any'"],
    [deployment, 'size(object.spec.anyList) == 1', 17, "undefined field 'anyList'"],
    [deployment, "object.spec.inner.metadata.labels['x'] == 'y' && object.spec.inner.a == object.spec.inner.kind"],
    [deployment, 'object.spec.inner.metadata.nope == 1', 27, "undefined field 'nope'"],
    [deployment, "object.spec.__if__ == '' && object.spec.a__dash__b == ''"],
    [
      deployment,
      "object.metadata.labels.foo == 'x' && object.metadata.name == object.kind && object.metadata.generation > 1",
    ],
    [deployment, "object.metadata.creationTimestamp == 'x'", 35, noOverload('_==_', '(timestamp, string)')],
    [deployment, 'object.status == 1', 7, "undefined field 'status'"],
    [deployment, 'object.spec.replicas'],
    [deployment, 'request.object.foo == 1', 8, "undefined field 'object'"],
    [deployment, 'variables.x', 10, "undefined field 'x'"],
    [deployment, 'params.x', 1, "undeclared reference to 'params' (in container '')"],
    [deployment, "authorizer.group('').resource('pods').check('get').allowed()"],
    [deployment, 'authorizer.allowed()', 19, noOverload('allowed', `${typeName(authorizerType)}.()`)],
    [builtIn(pod(orch)), "object.spec.containers.all(c, c.image.startsWith('a') && has(c.livenessProbe.httpGet.port))"],
    [
      builtIn(pod(orch)),
      "object.spec.containers[0].livenessProbe.httpGet.port == 'http' || object.spec.containers[0].livenessProbe.httpGet.port == 1",
    ],
    [builtIn(pod(orch)), 'object.spec.containers.all(c, c.imag == 1)', 32, "undefined field 'imag'"],
    // Quantities are documented as one of two types, which expressions do not see.
    [builtIn(pod(orch)), "object.spec.containers[0].resources.limits['cpu'] == '1'", 36, "undefined field 'limits'"],
    [builtIn(pod(orch)), "object.status.startTime > timestamp('2020-01-01T00:00:00Z')"],
    [builtIn(pod(orch)), 'object.metadata.managedFields[0].fieldsV1.x == 1', 42, "undefined field 'x'"],
    [builtIn(secret(orch)), "object.data['a'] == b'x'"],
    [builtIn(secret(orch)), "object.data['a'] == 'x'", 18, noOverload('_==_', '(bytes, string)')],
    [builtIn(lease(orch)), "object.spec.renewTime > 'x'", 23, noOverload('_>_', '(timestamp, string)')],
    [builtIn(customResourceDefinition(orch)), "object.spec.versions[0].schema.openAPIV3Schema.type == 'object'"],
    // A definition within itself is an object without fields.
    [
      builtIn(customResourceDefinition(orch)),
      "object.spec.versions[0].schema.openAPIV3Schema.properties['x'].type == ''",
      63,
      "undefined field 'type'",
    ],
    [
      builtIn(customResourceDefinition(orch)),
      'object.spec.versions[0].schema.openAPIV3Schema.items == 1',
      47,
      "undefined field 'items'",
    ],
  ];
  for (const [type, source, column, reason = ''] of rows) {
    test(`${type.text}: ${source}`, () =>
      assert.equal(check(source, type), column === undefined ? '' : `${type.text}: ${marked(source, column, reason)}`));
  }

  test('the types follow each other, with all errors of each', () => {
    const source = 'object.spec.replicas > 5 && object.foo';
    const first = `/v1, Kind=Pod: ${marked(source, 12, "undefined field 'replicas'").trimEnd()}\n${marked(source, 35, "undefined field 'foo'")}`;
    const second = `apps/v1, Kind=Texts: ${marked(source, 22, noOverload('_>_', '(string, int)')).trimEnd()}\n${marked(source, 35, "undefined field 'foo'")}`;
    const third = `apps/v1, Kind=Deployment: ${marked(source, 35, "undefined field 'foo'")}`;
    assert.equal(check(source, builtIn(pod(orch)), text5, deployment), [first, second, third].join('\n'));
  });
});

describe('expressions of a policy', () => {
  const params = custom('Config', { max: integer }).type;
  const rows: readonly (readonly [
    what: string,
    spec: ValidatingPolicySpec,
    types: Partial<PolicyTypes>,
    ...warnings: (readonly [path: string, source: string, column: number, reason: string])[],
  ])[] = [
    ['nothing', {}, {}],
    ['no types', { validations: [{ expression: 'object.x' }] }, { objects: [] }],
    [
      'rules and their messages',
      {
        validations: [
          { expression: 'object.a' },
          { expression: 'true', messageExpression: 'object.b' },
          { expression: 'object.c', messageExpression: '1' },
        ],
      },
      {},
      ['spec.validations[0].expression', 'object.a', 7, "undefined field 'a'"],
      ['spec.validations[1].messageExpression', 'object.b', 7, "undefined field 'b'"],
      ['spec.validations[2].expression', 'object.c', 7, "undefined field 'c'"],
    ],
    [
      'not conditions, annotations and variables',
      {
        matchConditions: [{ name: 'a', expression: 'object.a' }],
        auditAnnotations: [{ key: 'a', valueExpression: 'object.a' }],
        variables: [{ name: 'a', expression: 'object.a' }],
        validations: [{ expression: 'true' }],
      },
      {},
    ],
    [
      'variables have the types of their expressions',
      {
        variables: [
          { name: 'n', expression: 'object.spec.replicas' },
          { name: 'twice', expression: 'variables.n * 2' },
          { name: 'wrong', expression: 'object.nope' },
          { name: 'spec', expression: 'object.spec' },
        ],
        validations: [
          "variables.twice == 'a'",
          'variables.wrong == 1',
          'variables.spec.nope == 1',
          'variables.later == 1',
        ].map((expression) => ({ expression })),
      },
      {},
      ['spec.validations[0].expression', "variables.twice == 'a'", 17, noOverload('_==_', '(int, string)')],
      ['spec.validations[3].expression', 'variables.later == 1', 10, "undefined field 'later'"],
    ],
    [
      'params by the type of their kind',
      {
        paramKind: { apiVersion: 'v1', kind: 'Config' },
        validations: ['params.spec.max > 5', 'params.spec.maz > 5', 'object == params'].map((expression) => ({
          expression,
        })),
      },
      { params },
      ['spec.validations[1].expression', 'params.spec.maz > 5', 12, "undefined field 'maz'"],
      ['spec.validations[2].expression', 'object == params', 8, noOverload('_==_', '(Deployment1, Config1)')],
    ],
    [
      'params of an unknown kind',
      { paramKind: { apiVersion: 'v1', kind: 'Config' }, validations: [{ expression: 'params.x.y == 1' }] },
      {},
    ],
  ];
  for (const [what, spec, types, ...warnings] of rows) {
    test(what, () =>
      assert.deepEqual(
        warningsOf(spec, { objects: [deployment], ...types }),
        warnings.map(([fieldRef, source, column, reason]) => ({
          fieldRef,
          warning: `apps/v1, Kind=Deployment: ${marked(source, column, reason)}`,
        })),
      ),
    );
  }

  test('what is written is bounded', () => {
    const validations = Array.from({ length: 1_000 }, () => ({ expression: `object.nope == '${'x'.repeat(2_000)}'` }));
    const warnings = warningsOf({ validations }, { objects: [deployment] });
    assert.ok(warnings.length > 10);
    assert.ok(JSON.stringify(warnings).length < 1.2 * limits.policyWarningsTextMax);
  });

  test('others have a turn between expressions', () => {
    const validations = Array.from({ length: 1_500 }, () => ({ expression: 'object.spec.replicas > 5' }));
    let pauses = 0;
    for (const _ of checkTypes({ validations }, { objects: [deployment, text5] })) pauses++;
    assert.equal(pauses, 3_000);
  });

  test('and between the parts of the work on a long one', () => {
    const expression = Array.from({ length: 3_000 }, () => 'object.spec.replicas > 5').join(' || ');
    const spec = {
      variables: [{ name: 'long', expression }],
      validations: [{ expression, messageExpression: expression }],
    };
    let pauses = 0;
    for (const _ of checkTypes(spec, { objects: [deployment] })) pauses++;
    assert.ok(pauses > 300, `${pauses} pauses`);
  });
});
