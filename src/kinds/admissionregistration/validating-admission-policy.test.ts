import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { applyDefaults } from '../../schema/defaults.ts';
import type { Kind } from '../kind.ts';
import { createLater, read, row, type Sent, update, updateLater } from '../strategy-fixture.ts';
import { validatingAdmissionPolicies } from './validating-admission-policy.ts';

const all = validatingAdmissionPolicies(orch);
const kindOf = (name: string, version = 'v1'): Kind => {
  const found = all.find((each) => each.kind === name && each.version === version);
  assert.ok(found);
  return found;
};
const policy = kindOf('ValidatingAdmissionPolicy');
const binding = kindOf('ValidatingAdmissionPolicyBinding');

const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
const matched = { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {}, resourceRules: [rule] };
const valid = { failurePolicy: 'Fail', matchConstraints: matched, validations: [{ expression: 'true' }] };

const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const qualified =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

type Row = readonly (readonly [what: string, spec: object, errors: readonly string[]])[];

describe('ValidatingAdmissionPolicy: errors', () => {
  const rows: Row = [
    ['valid', {}, []],
    [
      'failurePolicy',
      { failurePolicy: 'x' },
      ['failurePolicy: Unsupported value: "x": supported values: "Fail", "Ignore"'],
    ],
    ['no failurePolicy', { failurePolicy: undefined }, ['failurePolicy: Required value']],
    ['no matchConstraints', { matchConstraints: undefined }, ['matchConstraints: Required value']],
    [
      'no rules',
      { matchConstraints: { ...matched, resourceRules: [] } },
      ['matchConstraints.resourceRules: Required value'],
    ],
    [
      'matchPolicy',
      { matchConstraints: { ...matched, matchPolicy: '' } },
      ['matchConstraints.matchPolicy: Unsupported value: "": supported values: "Equivalent", "Exact"'],
    ],
    [
      'selectors',
      { matchConstraints: { ...matched, namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } } },
      [
        `matchConstraints.namespaceSelector.matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      ],
    ],
    [
      'rules and excluded rules',
      {
        matchConstraints: {
          ...matched,
          resourceRules: [{ ...rule, resourceNames: ['a', 'b/c', 'a'] }],
          excludeResourceRules: [{ ...rule, operations: [], resources: ['pods/*', 'pods/log'] }],
        },
      },
      [
        `matchConstraints.resourceRules[0].resourceNames[1]: Invalid value: "b/c": may not contain '/'`,
        'matchConstraints.resourceRules[0].resourceNames[2]: Duplicate value: "a"',
        'matchConstraints.excludeResourceRules[0].operations: Required value',
        `matchConstraints.excludeResourceRules[0].resources[1]: Invalid value: "pods/log": if 'pods/*' is present, must not specify pods/log`,
      ],
    ],
    ['paramKind', { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }, []],
    ['paramKind of a group', { paramKind: { apiVersion: 'rules.example.com/v1', kind: 'Limit' } }, []],
    [
      'an empty paramKind',
      { paramKind: {} },
      ['paramKind.apiVersion: Required value', 'paramKind.kind: Required value'],
    ],
    [
      'apiVersion and kind',
      { paramKind: { apiVersion: '!/1', kind: 'A b' } },
      [
        `paramKind.apiVersion: Invalid value: "!": ${subdomain}`,
        `paramKind.apiVersion: Invalid value: "1": ${label}`,
        `paramKind.kind: Invalid value: "A b": may have mixed case, but should otherwise match: ${label}`,
      ],
    ],
    [
      'an apiVersion of three parts',
      { paramKind: { apiVersion: 'a/b/c', kind: 'X' } },
      ['paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
    ],
    [
      'a group alone',
      { paramKind: { apiVersion: 'a/', kind: 'X' } },
      ['paramKind.apiVersion: Invalid value: "a/": version must be specified'],
    ],
    [
      'neither validations nor annotations',
      { validations: [] },
      ['validations', 'auditAnnotations'].map(
        (field) => `${field}: Required value: validations or auditAnnotations must contain at least one item`,
      ),
    ],
    ['annotations only', { validations: [], auditAnnotations: [{ key: 'a', valueExpression: "'x'" }] }, []],
    [
      'an empty validation',
      { validations: [{ expression: ' ', message: ' ', messageExpression: ' ' }] },
      [
        'validations[0].expression: Required value: expression is not specified',
        'validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
        'validations[0].message: Invalid value: " ": message must be non-empty if specified',
      ],
    ],
    [
      'a message of two lines',
      { validations: [{ expression: 'true', message: 'a\nb' }] },
      [String.raw`validations[0].message: Invalid value: "a\nb": message must not contain line breaks`],
    ],
    ['a message that ends with a line break', { validations: [{ expression: 'true', message: 'a\n' }] }, []],
    [
      'reason',
      { validations: [{ expression: 'true', reason: 'Unauthorized' }] },
      [
        'validations[0].reason: Unsupported value: "Unauthorized": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
      ],
    ],
    [
      'expressions that do not compile',
      {
        validations: [
          { expression: 'object.x', messageExpression: '1' },
          { expression: 'nothing', messageExpression: 'string(authorizer)' },
        ],
      },
      [
        'validations[0].expression: Invalid value: "object.x": must evaluate to bool but got dyn',
        'validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int',
        `validations[1].expression: Invalid value: "nothing": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nothing' (in container '')\n | nothing\n | ^`,
        `validations[1].messageExpression: Invalid value: "string(authorizer)": compilation failed: ERROR: <input>:1:8: undeclared reference to 'authorizer' (in container '')\n | string(authorizer)\n | .......^`,
      ],
    ],
    [
      'constants without a value',
      {
        validations: [{ expression: 'int("x") == 1' }, { expression: 'int("x")' }],
        variables: [{ name: 'a', expression: 'int("x")' }],
      },
      [
        "variables[0].expression: Internal error: program instantiation failed: type conversion error from 'string' to 'int'",
        "validations[0].expression: Internal error: program instantiation failed: type conversion error from 'string' to 'int'",
        'validations[1].expression: Invalid value: "int(\\"x\\")": must evaluate to bool but got int',
      ],
    ],
    [
      'params need a paramKind',
      { validations: [{ expression: 'params.x == 1' }], matchConditions: [{ name: 'a', expression: 'params.x == 1' }] },
      ['matchConditions[0]', 'validations[0]'].map(
        (path) =>
          `${path}.expression: Invalid value: "params.x == 1": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.x == 1\n | ^`,
      ),
    ],
    [
      'params',
      {
        paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
        matchConditions: [{ name: 'a', expression: 'params.x == 1' }],
        validations: [{ expression: 'params.x == 1', messageExpression: "'x' + params.y" }],
        auditAnnotations: [{ key: 'a', valueExpression: "'x' + params.y" }],
      },
      [],
    ],
    [
      'variables',
      {
        variables: [
          { name: 'a', expression: '1' },
          { name: 'b', expression: '[variables.a]' },
        ],
        validations: [{ expression: 'variables.b[0] == variables.a', messageExpression: 'string(variables.a)' }],
        auditAnnotations: [{ key: 'a', valueExpression: 'string(variables.a)' }],
      },
      [],
    ],
    [
      'variables that are none',
      {
        variables: [
          { name: '', expression: '' },
          { name: 'a-b', expression: '1' },
          { name: 'in', expression: 'variables.c' },
          { name: 'c', expression: '1' },
        ],
      },
      [
        'variables[0].name: Required value: name is not specified',
        'variables[0].expression: Required value: expression is not specified',
        'variables[1].name: Invalid value: "a-b": name is not a valid CEL identifier',
        'variables[2].name: Invalid value: "in": name is not a valid CEL identifier',
        `variables[2].expression: Invalid value: "variables.c": compilation failed: ERROR: <input>:1:10: undefined field 'c'\n | variables.c\n | .........^`,
      ],
    ],
    [
      'conditions cannot use variables',
      { variables: [{ name: 'a', expression: 'true' }], matchConditions: [{ name: 'c', expression: 'variables.a' }] },
      [
        `matchConditions[0].expression: Invalid value: "variables.a": compilation failed: ERROR: <input>:1:1: undeclared reference to 'variables' (in container '')\n | variables.a\n | ^`,
      ],
    ],
    [
      'audit annotations',
      {
        auditAnnotations: [
          { key: 'a', valueExpression: '' },
          { key: 'a', valueExpression: 'true' },
          { key: 'b c', valueExpression: 'null' },
          { key: 'd', valueExpression: `'${'x'.repeat(5 * 1024)}'` },
        ],
      },
      [
        'auditAnnotations[0].valueExpression: Required value: valueExpression is not specified',
        'auditAnnotations[1].key: Duplicate value: "a"',
        `auditAnnotations[2].key: Invalid value: "one/b c": ${qualified}`,
        'auditAnnotations[3].valueExpression: Required value: must not exceed 5120 bytes in length',
        'auditAnnotations[1].valueExpression: Invalid value: "true": must evaluate to one of [string null_type] but got bool',
      ],
    ],
    [
      'too many audit annotations',
      { auditAnnotations: Array.from({ length: 21 }, (_, index) => ({ key: `k${index}`, valueExpression: "'x'" })) },
      [
        `auditAnnotations: Invalid value: []admissionregistration.AuditAnnotation{${Array.from({ length: 21 }, (_, index) => `admissionregistration.AuditAnnotation{Key:"k${index}", ValueExpression:"'x'"}`).join(', ')}}: must not have more than 20 auditAnnotations`,
      ],
    ],
    [
      'conditions',
      {
        matchConditions: [
          { name: 'a', expression: '1' },
          { name: 'a', expression: ' ' },
        ],
      },
      [
        'matchConditions[1].expression: Required value',
        'matchConditions[1].name: Duplicate value: "a"',
        'matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int',
      ],
    ],
  ];
  for (const [what, spec, errors] of rows) {
    it(what, async () => {
      const found = await createLater(policy, { spec: { ...valid, ...spec } });
      assert.deepEqual(
        found.errors,
        errors.map((error) => `spec.${error}`),
      );
    });
  }

  it('an update does not look at conditions that are as they were', async () => {
    const spec = { ...valid, matchConditions: [{ name: 'a', expression: 'params.x == 1' }] };
    const stored: Sent = { kind: policy.kind, metadata: { name: 'one' }, spec };
    assert.deepEqual((await updateLater(policy, stored, { spec: { ...spec, failurePolicy: 'Ignore' } })).errors, []);
    const changed = { ...spec, paramKind: { apiVersion: 'v1', kind: '' } };
    assert.deepEqual((await updateLater(policy, stored, { spec: changed })).errors, [
      'spec.paramKind.kind: Required value',
    ]);
    const more = { ...spec, matchConditions: [...spec.matchConditions, { name: 'b', expression: 'true' }] };
    assert.equal((await updateLater(policy, stored, { spec: more })).errors.length, 1);
  });
});

describe('ValidatingAdmissionPolicy: status', () => {
  const now = '2026-01-01T00:00:00Z';
  const condition = { type: 'Ready', status: 'True', lastTransitionTime: now, reason: 'Checked', message: '' };
  const rows: readonly (readonly [what: string, status: object, errors: readonly string[]])[] = [
    ['nothing', {}, []],
    [
      'valid',
      {
        observedGeneration: 1,
        typeChecking: { expressionWarnings: [{ fieldRef: 'spec.validations[0].expression', warning: 'x' }] },
        conditions: [condition],
      },
      [],
    ],
    [
      'warnings',
      { typeChecking: { expressionWarnings: [{}, { fieldRef: 'spec[', warning: 'x' }] } },
      [
        'typeChecking.expressionWarnings[0].warning: Required value',
        'typeChecking.expressionWarnings[0].fieldRef: Required value',
        'typeChecking.expressionWarnings[1].fieldRef: Invalid value: "spec[": invalid JSONPath: .spec[ is not a JSON path: a bracket is not closed',
      ],
    ],
    [
      'conditions',
      {
        conditions: [
          condition,
          { ...condition, status: 'Yes', observedGeneration: -1, reason: '1' },
          { type: 'a b', message: 'x'.repeat(32 * 1024 + 1) },
        ],
      },
      [
        'conditions[1].type: Duplicate value: "Ready"',
        'conditions[1].status: Unsupported value: "Yes": supported values: "False", "True", "Unknown"',
        'conditions[1].observedGeneration: Invalid value: -1: must be greater than or equal to zero',
        `conditions[1].reason: Invalid value: "1": a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')`,
        `conditions[2].type: Invalid value: "a b": ${qualified}`,
        'conditions[2].status: Unsupported value: "": supported values: "False", "True", "Unknown"',
        'conditions[2].lastTransitionTime: Required value: must be set',
        'conditions[2].reason: Required value: must be set',
        'conditions[2].message: Too long: may not be more than 32768 bytes',
      ],
    ],
  ];
  const stored: Sent = { kind: policy.kind, metadata: { name: 'one', labels: { a: 'b' } }, spec: valid };
  for (const [what, status, errors] of rows) {
    it(what, () => {
      assert.deepEqual(
        update(policy, stored, { status }, 'status').errors,
        errors.map((error) => `status.${error}`),
      );
    });
  }

  it('changes nothing else', () => {
    const { object } = update(
      policy,
      stored,
      { metadata: { labels: { c: 'd' } }, spec: {}, status: { observedGeneration: 2 } },
      'status',
    );
    assert.deepEqual([object['spec'], object.metadata.labels], [valid, { a: 'b' }]);
  });

  it('a new policy has none', async () => {
    const { object } = await createLater(policy, { spec: valid, status: { observedGeneration: 7 } });
    assert.deepEqual(object['status'], {});
  });
});

describe('ValidatingAdmissionPolicyBinding: errors', () => {
  const bound = { policyName: 'p', validationActions: ['Deny'] };
  const ref = { name: 'x', parameterNotFoundAction: 'Deny' };
  const rows: Row = [
    ['valid', {}, []],
    ['no policy', { policyName: '' }, ['policyName: Required value']],
    ['a name that is none', { policyName: 'A' }, [`policyName: Invalid value: "A": ${subdomain}`]],
    [
      'no actions',
      { validationActions: [] },
      ['validationActions: Required value: at least one validation action is required'],
    ],
    [
      'actions',
      { validationActions: ['Audit', 'Audit', 'Log'] },
      [
        'validationActions[1]: Duplicate value: "Audit"',
        'validationActions[2]: Unsupported value: "Log": supported values: "Audit", "Deny", "Warn"',
      ],
    ],
    [
      'Deny and Warn',
      { validationActions: ['Deny', 'Warn'] },
      [
        'validationActions: Invalid value: []admissionregistration.ValidationAction{"Deny", "Warn"}: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
      ],
    ],
    ['Warn and Audit', { validationActions: ['Warn', 'Audit'] }, []],
    ['paramRef by name', { paramRef: ref }, []],
    ['paramRef by labels', { paramRef: { ...ref, name: '', selector: {} } }, []],
    [
      'paramRef by both',
      { paramRef: { ...ref, selector: {} } },
      ['name', 'selector'].map((field) => `paramRef.${field}: Forbidden: name and selector are mutually exclusive`),
    ],
    [
      'paramRef by neither',
      { paramRef: {} },
      [
        'paramRef: Required value: one of name or selector must be specified',
        'paramRef.parameterNotFoundAction: Required value',
      ],
    ],
    [
      'paramRef',
      { paramRef: { name: 'a/b', parameterNotFoundAction: 'Ignore' } },
      [
        `paramRef.name: Invalid value: "a/b": may not contain '/'`,
        'paramRef.parameterNotFoundAction: Unsupported value: "Ignore": supported values: "Deny", "Allow"',
      ],
    ],
    ['matchResources without rules', { matchResources: { matchPolicy: 'Exact' } }, []],
    [
      'matchResources',
      { matchResources: { matchPolicy: 'x', resourceRules: [{ ...rule, operations: ['GET'] }] } },
      [
        'matchResources.matchPolicy: Unsupported value: "x": supported values: "Equivalent", "Exact"',
        'matchResources.resourceRules[0].operations[0]: Unsupported value: "GET": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
      ],
    ],
  ];
  for (const [what, spec, errors] of rows) {
    it(what, async () => {
      const found = await createLater(binding, { spec: { ...bound, ...spec } });
      assert.deepEqual(
        found.errors,
        errors.map((error) => `spec.${error}`),
      );
    });
  }
});

describe('defaults of policies', () => {
  const defaultsOf = (kind: Kind, spec: object): unknown => {
    const object = read(kind, { spec });
    applyDefaults(kind.schema, object);
    return JSON.parse(JSON.stringify(object['spec']));
  };
  const match = { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} };
  for (const version of ['v1', 'v1beta1']) {
    it(version, () => {
      assert.deepEqual(defaultsOf(kindOf(policy.kind, version), { matchConstraints: { resourceRules: [rule] } }), {
        failurePolicy: 'Fail',
        matchConstraints: { ...match, resourceRules: [{ ...rule, scope: '*' }] },
      });
      assert.deepEqual(defaultsOf(kindOf(binding.kind, version), { paramRef: { name: 'x' }, matchResources: {} }), {
        paramRef: { name: 'x' },
        matchResources: match,
      });
    });
  }
});

describe('columns of policies', () => {
  const paramKind = { apiVersion: 'rules.example.com/v1', kind: 'Limit' };
  const selector = {
    matchLabels: { b: 'c', a: 'b' },
    matchExpressions: [{ key: 'k', operator: 'In', values: ['x', 'y'] }],
  };
  const rows: readonly (readonly [kind: Kind, spec: object, shown: object])[] = [
    [policy, {}, { Validations: 0, ParamKind: '<unset>' }],
    [policy, { ...valid, paramKind }, { Validations: 1, ParamKind: 'rules.example.com/v1/Limit' }],
    [binding, { policyName: 'p' }, { PolicyName: 'p', ParamRef: '<unset>' }],
    [binding, { policyName: 'p', paramRef: { name: 'x' } }, { PolicyName: 'p', ParamRef: '*/x' }],
    [binding, { policyName: 'p', paramRef: { name: 'x', namespace: 'n' } }, { PolicyName: 'p', ParamRef: 'n/x' }],
    [
      binding,
      { paramRef: { selector } },
      {
        PolicyName: '',
        ParamRef:
          '&LabelSelector{MatchLabels:map[string]string{a: b,b: c,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}',
      },
    ],
  ];
  for (const [kind, spec, shown] of rows) {
    it(`${kind.kind} ${JSON.stringify(shown)}`, () => {
      const metadata = { creationTimestamp: '2026-01-05T00:00:00Z' };
      assert.deepEqual(row(kind, { metadata, spec }), { Name: 'one', ...shown, Age: '5d' });
    });
  }
});
