import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { defaultPolicy } from './bootstrap-policy/default-policy.ts';
import { autoupdateAnnotation, group, rule, user } from './bootstrap-policy/policy-objects.ts';
import { makeBinding, makeRole } from './rbac-objects-fixture.ts';
import { reconcile } from './reconcile.ts';

const autoupdate = autoupdateAnnotation(orch);

const withMetadata = (object: ApiObject, metadata: Partial<ApiObject['metadata']>): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, ...metadata },
});
const stored = (object: ApiObject, metadata: Partial<ApiObject['metadata']> = {}): ApiObject =>
  withMetadata(object, { uid: 'u1', resourceVersion: '7', ...metadata });

const expected = withMetadata(makeRole('', 'r', rule('get list', 'pods'), rule('get', 'nodes')), {
  labels: { boot: 'yes' },
  annotations: { [autoupdate]: 'true' },
});
const selectors = (...values: readonly string[]) => ({
  aggregationRule: { clusterRoleSelectors: values.map((to) => ({ matchLabels: { to } })) },
});
const binding = makeBinding(
  '',
  'b',
  'ClusterRole/r',
  { ...group('dev'), apiGroup: 'g' },
  { ...user('jane'), apiGroup: 'g' },
);

/** The result: `keep`, or what changed. */
const rows: [
  why: string,
  expected: ApiObject,
  existing: ApiObject | undefined,
  outcome: ReturnType<typeof reconcile>,
][] = [
  ['absent', expected, undefined, { type: 'create', object: expected }],
  ['the same', expected, stored(expected), { type: 'keep' }],
  [
    'missing rules are added, broken down; others are kept',
    expected,
    stored({ ...expected, rules: [rule('get', 'pods'), rule('*', 'secrets')] }),
    {
      type: 'update',
      object: stored({
        ...expected,
        rules: [rule('get', 'pods'), rule('*', 'secrets'), rule('list', 'pods'), rule('get', 'nodes')],
      }),
    },
  ],
  ['equivalent rules are not missing', expected, stored({ ...expected, rules: [rule('*', '*')] }), { type: 'keep' }],
  [
    'no rules at all',
    expected,
    stored({ ...expected, rules: [] }),
    {
      type: 'update',
      object: stored({ ...expected, rules: [rule('get', 'pods'), rule('list', 'pods'), rule('get', 'nodes')] }),
    },
  ],
  [
    'protected',
    expected,
    stored({ ...expected, rules: [] }, { annotations: { [autoupdate]: 'false' } }),
    { type: 'keep' },
  ],
  [
    'missing labels and annotations are added; others and changed values are kept',
    expected,
    stored(expected, { labels: { boot: 'no', mine: 'x' }, annotations: { mine: 'y' } }),
    {
      type: 'update',
      object: stored(expected, { labels: { boot: 'no', mine: 'x' }, annotations: { [autoupdate]: 'true', mine: 'y' } }),
    },
  ],
  [
    'an annotation with another value does not protect',
    expected,
    stored({ ...expected, rules: [] }, { annotations: { [autoupdate]: 'no' } }),
    {
      type: 'update',
      object: stored(
        { ...expected, rules: [rule('get', 'pods'), rule('list', 'pods'), rule('get', 'nodes')] },
        { annotations: { [autoupdate]: 'no' } },
      ),
    },
  ],
  [
    'missing selectors are added',
    { ...expected, ...selectors('x', 'y') },
    stored({ ...expected, ...selectors('y', 'z') }),
    { type: 'update', object: stored({ ...expected, ...selectors('y', 'z', 'x') }) },
  ],
  [
    'an expected aggregationRule is added',
    { ...expected, ...selectors('x') },
    stored(expected),
    { type: 'update', object: stored({ ...expected, ...selectors('x') }) },
  ],
  [
    'an unexpected aggregationRule is removed',
    expected,
    stored({ ...expected, ...selectors('x') }),
    { type: 'update', object: stored(expected) },
  ],
  [
    'the rules of an aggregated role are kept',
    { ...expected, rules: [], ...selectors('x') },
    stored({ ...expected, ...selectors('x') }),
    { type: 'keep' },
  ],
  ['a binding that is absent', binding, undefined, { type: 'create', object: binding }],
  ['a binding that is the same', binding, stored(binding), { type: 'keep' }],
  [
    'missing subjects are added; others are kept',
    binding,
    stored({
      ...binding,
      subjects: [
        { ...user('joe'), apiGroup: 'g' },
        { ...user('jane'), apiGroup: 'g' },
      ],
    }),
    {
      type: 'update',
      object: stored({
        ...binding,
        subjects: [
          { ...user('joe'), apiGroup: 'g' },
          { ...user('jane'), apiGroup: 'g' },
          { ...group('dev'), apiGroup: 'g' },
        ],
      }),
    },
  ],
  [
    'a binding of another role is recreated, without additions',
    binding,
    stored(makeBinding('', 'b', 'ClusterRole/other', user('joe')), { labels: { mine: 'x' } }),
    { type: 'recreate', object: binding, uid: 'u1' },
  ],
  [
    'a protected binding of another role',
    binding,
    stored(makeBinding('', 'b', 'ClusterRole/other'), { annotations: { [autoupdate]: 'false' } }),
    { type: 'keep' },
  ],
  [
    'a binding without subjects is kept without',
    makeBinding('', 'b', 'ClusterRole/r'),
    stored(makeBinding('', 'b', 'ClusterRole/r', user('joe'))),
    { type: 'keep' },
  ],
];

describe('reconcile', () => {
  for (const [why, wanted, existing, outcome] of rows) {
    test(why, () => {
      const before = JSON.stringify([wanted, existing]);
      assert.deepEqual(reconcile(wanted, existing, autoupdate), outcome);
      assert.equal(JSON.stringify([wanted, existing]), before, 'neither object is changed');
    });
  }

  test('a reconciled object is kept', () => {
    for (const [, wanted, existing] of rows) {
      const outcome = reconcile(wanted, existing, autoupdate);
      if (outcome.type !== 'keep') assert.deepEqual(reconcile(wanted, outcome.object, autoupdate), { type: 'keep' });
    }
  });

  test('the default policy is kept once it exists', () => {
    for (const object of defaultPolicy(orch))
      assert.deepEqual(reconcile(object, stored(object), autoupdate), { type: 'keep' });
  });
});
