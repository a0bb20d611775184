import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import { kubernetes } from '../dialect/kubernetes.ts';
import { orch } from '../dialect/orch.ts';
import { readPolicy } from './policy-file.ts';

const header = { apiVersion: 'audit.orch.io/v1', kind: 'Policy' };
const read = (document: unknown) =>
  readPolicy(Buffer.from(typeof document === 'string' ? document : JSON.stringify(document)), orch);

describe('an audit policy', () => {
  it('is read with everything that it may say', () => {
    const policy = read(`
apiVersion: audit.orch.io/v1
kind: Policy
metadata: {name: default, creationTimestamp: null}
omitStages: [RequestReceived]
omitManagedFields: true
rules:
- level: RequestResponse
  users: [jane]
  userGroups: [dev]
  verbs: [update]
  resources:
  - group: ""
    resources: [pods, "*/status"]
    resourceNames: [p]
  - group: apps
  namespaces: [a, ""]
  omitStages: [ResponseStarted, Panic]
  omitManagedFields: false
- level: None
  nonResourceURLs: ["/healthz*", /version, "*"]
`);
    const none = { users: [], userGroups: [], verbs: [], resources: [], namespaces: [], omitStages: [] };
    assert.deepEqual(policy, {
      omitStages: ['RequestReceived'],
      omitManagedFields: true,
      rules: [
        {
          level: 'RequestResponse',
          users: ['jane'],
          userGroups: ['dev'],
          verbs: ['update'],
          resources: [
            { group: '', resources: ['pods', '*/status'], resourceNames: ['p'] },
            { group: 'apps', resources: [], resourceNames: [] },
          ],
          namespaces: ['a', ''],
          nonResourceURLs: [],
          omitStages: ['ResponseStarted', 'Panic'],
          omitManagedFields: false,
        },
        { ...none, level: 'None', nonResourceURLs: ['/healthz*', '/version', '*'], omitManagedFields: undefined },
      ],
    });
  });

  it('to begin with is one, in both dialects', () => {
    const text = readFileSync(resolve(import.meta.dirname, '../../examples/audit-policy.yaml'), 'utf8');
    const { rules } = readPolicy(Buffer.from(text), orch);
    assert.deepEqual(rules.at(-1)?.level, 'Metadata');
    assert.equal(readPolicy(Buffer.from(text.replaceAll('orch.io', 'k8s.io')), kubernetes).rules.length, rules.length);
    const withSecrets = rules.find(({ resources }) => resources.some((each) => each.resources.includes('secrets')));
    assert.equal(withSecrets?.level, 'Metadata');
  });

  it('has the group of the dialect', () => {
    const document = (group: string) =>
      Buffer.from(JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Policy', rules: [{ level: 'None' }] }));
    assert.equal(readPolicy(document('audit.k8s.io'), kubernetes).rules.length, 1);
    assert.throws(
      () => readPolicy(document('audit.k8s.io'), orch),
      /apiVersion: Unsupported value: "audit.k8s.io\/v1"/,
    );
  });
});

const rule = (fields: object): object => ({ ...header, rules: [{ level: 'None' }, { level: 'Metadata', ...fields }] });
const of = (fields: object): object => rule({ resources: [fields] });

const wrong: readonly (readonly [document: unknown, problem: string])[] = [
  ['', 'expected an object of kind Policy'],
  ['[]', 'expected an object of kind Policy'],
  ['{]', 'error'],
  [{ kind: 'Policy', rules: [] }, 'apiVersion: Required value'],
  [{ ...header, apiVersion: 'audit.orch.io/v1beta1' }, 'apiVersion: Unsupported value: "audit.orch.io/v1beta1"'],
  [{ ...header, kind: 'Event' }, 'kind: Unsupported value: "Event"'],
  [header, 'rules: Required value: loaded illegal policy with 0 rules'],
  [{ ...header, rules: [] }, 'rules: Required value: loaded illegal policy with 0 rules'],
  [{ ...header, rules: {} }, 'rules: expected array, got object'],
  [{ ...header, rules: [{}] }, 'rules[0].level: Required value'],
  [{ ...rule({}), rule: [] }, 'unknown field "rule"'],
  [
    { ...rule({}), omitStages: ['Started'] },
    'omitStages[0]: Invalid value: "Started": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
  ],
  [{ ...rule({}), omitManagedFields: 'yes' }, 'omitManagedFields: expected boolean, got string'],
  [rule({ level: '' }), 'rules[1].level: Required value'],
  [
    rule({ level: 'metadata' }),
    'rules[1].level: Unsupported value: "metadata": supported values: "Metadata", "None", "Request", "RequestResponse"',
  ],
  [rule({ level: 2 }), 'rules[1].level: expected string'],
  [rule({ user: ['jane'] }), 'unknown field "rules[1].user"'],
  [rule({ users: 'jane' }), 'rules[1].users: expected array, got string'],
  [rule({ omitStages: ['Panic', ''] }), 'rules[1].omitStages[1]: Invalid value: "": allowed stages are'],
  [
    rule({ nonResourceURLs: ['healthz'] }),
    `rules[1].nonResourceURLs[0]: Invalid value: "healthz": non-resource URL rules must begin with a '/' character`,
  ],
  [
    rule({ nonResourceURLs: ['/ok', ''] }),
    'rules[1].nonResourceURLs[1]: Invalid value: "": non-resource URL rules must begin',
  ],
  [
    rule({ nonResourceURLs: ['/a/*/b'] }),
    `rules[1].nonResourceURLs[0]: Invalid value: "/a/*/b": non-resource URL wildcards '*' must be the final character of the rule`,
  ],
  [
    rule({ nonResourceURLs: ['/a'], namespaces: ['b'] }),
    'rules[1].nonResourceURLs: Invalid value: []string{"/a"}: rules cannot apply to both regular resources and non-resource URLs',
  ],
  [
    rule({ nonResourceURLs: ['/a'], resources: [{}] }),
    'rules cannot apply to both regular resources and non-resource URLs',
  ],
  [
    of({ group: 'apps/v1' }),
    'rules[1].resources[0].group: Invalid value: "apps/v1": a lowercase RFC 1123 subdomain must consist of',
  ],
  [
    of({ resourceNames: ['a'] }),
    'rules[1].resources[0].resourceNames: Invalid value: []string{"a"}: using resourceNames requires at least one resource',
  ],
  [of({ resource: 'pods' }), 'unknown field "rules[1].resources[0].resource"'],
  [`${JSON.stringify(rule({}))}\n---\n{}`, 'single document'],
  [
    '{"apiVersion":"audit.orch.io/v1","kind":"Policy","rules":[{"level":"None","level":"Request"}]}',
    'duplicate field "rules[0].level"',
  ],
];

describe('a wrong audit policy is refused:', () => {
  for (const [document, problem] of wrong) {
    it(problem, () => {
      assert.throws(
        () => read(document),
        (error) => {
          assert.ok(error instanceof Error && error.message.includes(problem), `${error}`);
          return true;
        },
      );
    });
  }

  it('with all of its errors', () => {
    const document = { ...header, omitStages: ['x'], rules: [{}, { level: 'None', nonResourceURLs: ['x'] }] };
    assert.throws(
      () => read(document),
      /omitStages\[0\]: .*; rules\[0\]\.level: .*; rules\[1\]\.nonResourceURLs\[0\]: /,
    );
  });
});
