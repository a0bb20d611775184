import assert from 'node:assert/strict';
import { test } from 'node:test';
import { orch } from '../../dialect/orch.ts';
import { create, row, type Sent, update } from '../strategy-fixture.ts';
import { ingressClass } from './ingress-class.ts';

const kind = ingressClass(orch);
const controller = 'example.com/c';
const withParameters = (parameters: Sent): Sent => ({
  controller,
  parameters: { kind: 'K', name: 'n', ...parameters },
});

const rows: readonly [why: string, spec: Sent, errors: readonly string[]][] = [
  ['a controller', { controller }, []],
  ['none', {}, ['spec.controller: Required value']],
  ['a path of any characters', { controller: "example.com/a/b-._~%20!$&'()*+,;=:" }, []],
  [
    'no path',
    { controller: 'example.com' },
    ['spec.controller: Invalid value: "example.com": must be a domain-prefixed path (such as "acme.io/foo")'],
  ],
  [
    'an empty path',
    { controller: 'example.com/' },
    ['spec.controller: Invalid value: "example.com/": must be a domain-prefixed path (such as "acme.io/foo")'],
  ],
  [
    'no domain',
    { controller: '/c' },
    ['spec.controller: Invalid value: "/c": must be a domain-prefixed path (such as "acme.io/foo")'],
  ],
  [
    'a space',
    { controller: 'a.b/c d' },
    [
      "spec.controller: Invalid value: \"c d\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
    ],
  ],
  [
    'a long path',
    { controller: `a.b/${'c'.repeat(247)}` },
    ['spec.controller: Too long: may not be more than 250 bytes'],
  ],
  ['parameters', withParameters({ apiGroup: 'x.io' }), []],
  [
    'parameters of nothing',
    withParameters({ kind: '', name: '' }),
    [
      'spec.parameters.kind: Required value: kind is required',
      'spec.parameters.name: Required value: name is required',
    ],
  ],
  [
    'parameters of no path',
    withParameters({ kind: '..', name: 'a%' }),
    [
      'spec.parameters.kind: Invalid value: "..": may not be \'..\'',
      'spec.parameters.name: Invalid value: "a%": may not contain \'%\'',
    ],
  ],
  [
    'another scope',
    withParameters({ scope: 'All' }),
    ['spec.parameters.scope: Unsupported value: "All": supported values: "Cluster", "Namespace"'],
  ],
  ['parameters of a namespace', withParameters({ scope: 'Namespace', namespace: 'a' }), []],
  [
    'no namespace',
    withParameters({ scope: 'Namespace' }),
    ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
  ],
  [
    'a namespace of the cluster',
    withParameters({ namespace: 'a' }),
    ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
  ],
  [
    'a bad namespace',
    withParameters({ scope: 'Namespace', namespace: 'a.b' }),
    ['spec.parameters.namespace: Invalid value: "a.b": must not contain dots'],
  ],
];

/** The scope has a default that the write path sets before the strategy. */
const defaulted = ({ parameters, ...spec }: Sent): Sent => ({
  ...spec,
  ...(parameters !== undefined && { parameters: { scope: 'Cluster', ...Object(parameters) } }),
});

for (const [why, spec, errors] of rows) {
  test(`IngressClass: ${why}`, () => {
    assert.deepEqual(create(kind, { spec: defaulted(spec) }).errors, errors);
  });
}

test('IngressClass: bad domains and groups', () => {
  assert.match(
    create(kind, { spec: { controller: 'A.b/c' } }).errors.join(),
    /^spec\.controller: Invalid value: "A\.b": a lowercase RFC 1123 subdomain/,
  );
  const group = create(kind, { spec: defaulted(withParameters({ apiGroup: 'A' })) });
  assert.match(group.errors.join(), /^spec\.parameters\.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain/);
});

test('IngressClass: the controller stays', () => {
  assert.deepEqual(update(kind, { spec: { controller } }, { spec: { controller: 'example.com/d' } }).errors, [
    'spec.controller: Invalid value: "example.com/d": field is immutable',
  ]);
  assert.deepEqual(update(kind, { spec: { controller } }, { spec: defaulted(withParameters({})) }).errors, []);
});

test('IngressClass: columns', () => {
  const cells = { Name: 'one', Controller: controller, Age: '<unknown>' };
  assert.deepEqual(row(kind, { spec: withParameters({ apiGroup: 'x.io' }) }), { ...cells, Parameters: 'K.x.io/n' });
  assert.deepEqual(row(kind, { spec: withParameters({}) }), { ...cells, Parameters: 'K/n' });
  assert.deepEqual(row(kind, { spec: { controller } }), { ...cells, Parameters: '<none>' });
});
