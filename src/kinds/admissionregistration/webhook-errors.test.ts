import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { createLater, type Sent, updateLater } from '../strategy-fixture.ts';
import { mutatingWebhookConfiguration, validatingWebhookConfiguration } from './webhook-configuration.ts';

const valid = {
  name: 'a.example.com',
  clientConfig: { url: 'https://localhost/x' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
};
const rule = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
const at = 'webhooks[0]';
const ruleAt = `${at}.rules[0]`;

/** Changes of a valid webhook, and the errors that they cause. */
const rows: readonly (readonly [what: string, webhook: object, errors: readonly string[]])[] = [
  ['valid', {}, []],
  ['no name', { name: '' }, [`${at}.name: Required value`]],
  [
    'a name of two segments',
    { name: 'example.com' },
    [`${at}.name: Invalid value: "example.com": should be a domain with at least three segments separated by dots`],
  ],
  [
    'a name in upper case',
    { name: 'A.example.com' },
    [
      `${at}.name: Invalid value: "A.example.com": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
  ],
  [
    'failurePolicy',
    { failurePolicy: 'other' },
    [`${at}.failurePolicy: Unsupported value: "other": supported values: "Fail", "Ignore"`],
  ],
  [
    'matchPolicy',
    { matchPolicy: 'other' },
    [`${at}.matchPolicy: Unsupported value: "other": supported values: "Equivalent", "Exact"`],
  ],
  [
    'no sideEffects',
    { sideEffects: undefined },
    [`${at}.sideEffects: Required value: must specify one of None, NoneOnDryRun`],
  ],
  [
    'sideEffects of v1beta1',
    { sideEffects: 'Some' },
    [`${at}.sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`],
  ],
  ...[0, 31, -1].map(
    (seconds) =>
      [
        `timeoutSeconds ${seconds}`,
        { timeoutSeconds: seconds },
        [`${at}.timeoutSeconds: Invalid value: ${seconds}: the timeout value must be between 1 and 30 seconds`],
      ] as const,
  ),
  ['timeoutSeconds 30', { timeoutSeconds: 30 }, []],
  [
    'no versions',
    { admissionReviewVersions: [] },
    [`${at}.admissionReviewVersions: Required value: must specify one of v1, v1beta1`],
  ],
  ['v1beta1', { admissionReviewVersions: ['v1beta1'] }, []],
  ['an unknown version after a known one', { admissionReviewVersions: ['v1', 'v2'] }, []],
  [
    'unknown versions',
    { admissionReviewVersions: ['v2'] },
    [`${at}.admissionReviewVersions: Invalid value: []string{"v2"}: must include at least one of v1, v1beta1`],
  ],
  [
    'a version twice, and no label',
    { admissionReviewVersions: ['v1', 'v1', '1'] },
    [
      `${at}.admissionReviewVersions[1]: Invalid value: "v1": duplicate version`,
      `${at}.admissionReviewVersions[2]: Invalid value: "1": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
    ],
  ],
  [
    'no client',
    { clientConfig: {} },
    [`${at}.clientConfig: Required value: exactly one of url or service is required`],
  ],
  [
    'url and service',
    { clientConfig: { url: 'https://localhost', service: { namespace: 'n', name: 's' } } },
    [`${at}.clientConfig: Required value: exactly one of url or service is required`],
  ],
  [
    'http',
    { clientConfig: { url: 'http://localhost' } },
    [
      `${at}.clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
    ],
  ],
  [
    'a service without a name',
    { clientConfig: { service: { namespace: 'n', port: 0 } } },
    [
      `${at}.clientConfig.service.name: Required value: service name is required`,
      `${at}.clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive`,
    ],
  ],
  ['a caBundle that is none: the call fails', { clientConfig: { url: 'https://localhost', caBundle: 'Y2E=' } }, []],
  [
    'selectors',
    {
      namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'Near' }] },
      objectSelector: { matchLabels: { 'a b': 'c' } },
    },
    [
      `${at}.namespaceSelector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`,
      `${at}.objectSelector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
  ],
  ['a rule', { rules: [rule] }, []],
  [
    'an empty rule',
    { rules: [{}] },
    ['operations', 'apiGroups', 'apiVersions', 'resources'].map((field) => `${ruleAt}.${field}: Required value`),
  ],
  [
    'operations',
    { rules: [{ ...rule, operations: ['GET', '*'] }] },
    [
      `${ruleAt}.operations: Invalid value: []string{"GET", "*"}: if '*' is present, must not specify other operations`,
      `${ruleAt}.operations[0]: Unsupported value: "GET": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"`,
    ],
  ],
  [
    'groups and versions',
    { rules: [{ ...rule, apiGroups: ['', '*'], apiVersions: ['', '*'] }] },
    [
      `${ruleAt}.apiGroups: Invalid value: []string{"", "*"}: if '*' is present, must not specify other API groups`,
      `${ruleAt}.apiVersions: Invalid value: []string{"", "*"}: if '*' is present, must not specify other API versions`,
      `${ruleAt}.apiVersions[0]: Required value`,
    ],
  ],
  [
    'scope',
    { rules: [{ ...rule, scope: '' }] },
    [`${ruleAt}.scope: Unsupported value: "": supported values: "*", "Cluster", "Namespaced"`],
  ],
  ...(
    [
      [['a', 'b/c', '*/d', 'e/*'], []],
      [['*', 'a/b'], []],
      [['*/*'], []],
      [[''], ['[0]: Required value']],
      [['a/*', 'a/b'], [`[1]: Invalid value: "a/b": if 'a/*' is present, must not specify a/b`]],
      [['a/b', 'a/*'], []],
      [['*/b', 'a/b'], [`[1]: Invalid value: "a/b": if '*/b' is present, must not specify a/b`]],
      [['*/*', 'a'], [`: Invalid value: []string{"*/*", "a"}: if '*/*' is present, must not specify other resources`]],
      [
        ['*', 'a'],
        [
          `: Invalid value: []string{"*", "a"}: if '*' is present, must not specify other resources without subresources`,
        ],
      ],
      [['a', '*'], []],
    ] as const
  ).map(
    ([resources, errors]) =>
      [
        `resources ${resources.join(' ')}`,
        { rules: [{ ...rule, resources }] },
        errors.map((error) => `${ruleAt}.resources${error}`),
      ] as const,
  ),
  ['a condition', { matchConditions: [{ name: 'a.b/c', expression: 'true' }] }, []],
  [
    'an empty condition',
    { matchConditions: [{ name: '', expression: ' ' }] },
    [`${at}.matchConditions[0].expression: Required value`, `${at}.matchConditions[0].name: Required value`],
  ],
  [
    'names of conditions',
    {
      matchConditions: [
        { name: 'a', expression: 'true' },
        { name: 'a', expression: 'true' },
        { name: '-', expression: 'true' },
      ],
    },
    [
      `${at}.matchConditions[1].name: Duplicate value: "a"`,
      `${at}.matchConditions[2].name: Invalid value: "-": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    ],
  ],
  [
    'conditions that do not compile',
    {
      matchConditions: [
        'object.x',
        ' nothing',
        '1 +',
        "authorizer.group('').check('x').allowed()",
        'params.x == 1',
      ].map((expression, i) => ({ name: `c${i}`, expression })),
    },
    [
      `[0].expression: Invalid value: "object.x": must evaluate to bool but got dyn`,
      String.raw`[1].expression: Invalid value: "nothing": compilation failed: ERROR: <input>:1:1: undeclared reference to 'nothing' (in container '')\n | nothing\n | ^`,
      String.raw`[2].expression: Invalid value: "1 +": compilation failed: ERROR: <input>:1:4: Syntax error: unexpected the end\n | 1 +\n | ...^`,
      String.raw`[3].expression: Invalid value: "authorizer.group('').check('x').allowed()": compilation failed: ERROR: <input>:1:27: found no matching overload for 'check' applied to 'kubernetes.authorization.GroupCheck.(string)'\n | authorizer.group('').check('x').allowed()\n | ..........................^`,
      String.raw`[4].expression: Invalid value: "params.x == 1": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params.x == 1\n | ^`,
    ].map((error) => `${at}.matchConditions${error}`.replaceAll('\\n', '\n')),
  ],
  [
    'too many conditions',
    { matchConditions: Array.from({ length: 65 }, (_, i) => ({ name: `c${i}`, expression: 'true' })) },
    [`${at}.matchConditions: Too many: 65: must have at most 64 items`],
  ],
];

for (const kind of [validatingWebhookConfiguration(orch), mutatingWebhookConfiguration(orch)]) {
  describe(`${kind.kind}: errors`, () => {
    for (const [what, webhook, errors] of rows) {
      it(what, async () => {
        assert.deepEqual((await createLater(kind, { webhooks: [{ ...valid, ...webhook }] })).errors, errors);
      });
    }

    it('names are unique', async () => {
      const { errors } = await createLater(kind, { webhooks: [valid, valid, { ...valid, name: 'b.example.com' }] });
      assert.deepEqual(errors, ['webhooks[1].name: Duplicate value: "a.example.com"']);
    });

    const conditions = (...expressions: readonly string[]) => ({
      matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
    });
    const stored = (webhooks: readonly object[]): Sent => ({ kind: kind.kind, metadata: { name: 'one' }, webhooks });
    /** Stored configurations that would be refused today, an update, and its errors. */
    const updates: readonly (readonly [
      what: string,
      old: readonly object[],
      sent: readonly object[],
      errors: readonly string[],
    ])[] = [
      ['names that were not unique', [valid, valid], [valid, valid], []],
      ['side effects that were there', [{ ...valid, sideEffects: 'Unknown' }], [{ ...valid, sideEffects: 'Some' }], []],
      [
        'side effects that are no class',
        [{ ...valid, sideEffects: 'Unknown' }],
        [{ ...valid, sideEffects: 'x' }],
        [`${at}.sideEffects: Unsupported value: "x": supported values: "None", "NoneOnDryRun", "Some", "Unknown"`],
      ],
      [
        'versions that were unknown',
        [{ ...valid, admissionReviewVersions: ['v2'] }],
        [{ ...valid, admissionReviewVersions: ['v3'] }],
        [],
      ],
      [
        'conditions that are as they were',
        [{ ...valid, ...conditions('1') }],
        [{ ...valid, ...conditions('1'), timeoutSeconds: 3 }],
        [],
      ],
      [
        'one condition that is new',
        [{ ...valid, ...conditions('1') }],
        [{ ...valid, ...conditions('1', 'true') }],
        [`${at}.matchConditions[0].expression: Invalid value: "1": must evaluate to bool but got int`],
      ],
      [
        'what was valid must stay so',
        [valid],
        [{ ...valid, sideEffects: 'Some', admissionReviewVersions: ['v2'] }, { ...valid }],
        [
          `${at}.sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"`,
          `${at}.admissionReviewVersions: Invalid value: []string{"v2"}: must include at least one of v1, v1beta1`,
          'webhooks[1].name: Duplicate value: "a.example.com"',
        ],
      ],
    ];
    for (const [what, old, sent, errors] of updates) {
      it(`update: ${what}`, async () => {
        assert.deepEqual((await updateLater(kind, stored(old), { webhooks: sent })).errors, errors);
      });
    }
  });
}

describe('MutatingWebhookConfiguration', () => {
  it('reinvocationPolicy', async () => {
    const { errors } = await createLater(mutatingWebhookConfiguration(orch), {
      webhooks: [{ ...valid, reinvocationPolicy: 'x' }],
    });
    assert.deepEqual(errors, [
      `${at}.reinvocationPolicy: Unsupported value: "x": supported values: "IfNeeded", "Never"`,
    ]);
  });
});
