import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { create, read, row, type Sent, update } from '../strategy-fixture.ts';
import { runtimeClass } from './runtime-class.ts';

const kind = runtimeClass(orch);
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const rows: readonly { readonly why: string; readonly sent: Sent; readonly errors: readonly string[] }[] = [
  { why: 'a handler', sent: { handler: 'h' }, errors: [] },
  { why: 'no handler', sent: {}, errors: [`handler: Invalid value: "": ${label}`] },
  {
    why: 'a handler with dots',
    sent: { handler: 'a.b' },
    errors: ['handler: Invalid value: "a.b": must not contain dots'],
  },
  { why: 'overhead', sent: { handler: 'h', overhead: { podFixed: { cpu: '250m', memory: '120Mi' } } }, errors: [] },
  {
    why: 'negative overhead',
    sent: { handler: 'h', overhead: { podFixed: { cpu: '-1' } } },
    errors: ['overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
  },
  {
    why: 'overhead of a part of a huge page',
    sent: { handler: 'h', overhead: { podFixed: { 'hugepages-2Mi': '3Mi', cpu: '1' } } },
    errors: [
      'overhead.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
    ],
  },
  {
    why: 'overhead of an unknown resource',
    sent: { handler: 'h', overhead: { podFixed: { disk: '1' } } },
    errors: [
      'overhead.limits[disk]: Invalid value: disk: must be a standard resource type or fully qualified',
      'overhead.limits[disk]: Invalid value: disk: must be a standard resource for containers',
    ],
  },
  {
    why: 'scheduling',
    sent: { handler: 'h', scheduling: { nodeSelector: { a: 'b' }, tolerations: [{ key: 'k', operator: 'Exists' }] } },
    errors: [],
  },
  {
    why: 'a selector of no label',
    sent: { handler: 'h', scheduling: { nodeSelector: { 'a/b/c': 'd' } } },
    errors: [
      "scheduling.nodeSelector: Invalid value: \"a/b/c\": a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
    ],
  },
  {
    why: 'a toleration of all that tells no effect',
    sent: { handler: 'h', scheduling: { tolerations: [{ value: 'v' }] } },
    errors: [
      'scheduling.tolerations.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    ],
  },
  {
    why: 'an unknown effect',
    sent: { handler: 'h', scheduling: { tolerations: [{ key: 'k', effect: 'x' }] } },
    errors: [
      'scheduling.tolerations.tolerations[0].effect: Unsupported value: "x": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
  },
  {
    why: 'the same twice',
    sent: { handler: 'h', scheduling: { tolerations: [1, 2].map(() => ({ key: 'k', operator: 'Exists' })) } },
    errors: [
      'scheduling.tolerations[1]: Duplicate value: core.Toleration{Key:"k", Operator:"Exists", Value:"", Effect:"", TolerationSeconds:(*int64)(nil)}',
    ],
  },
];

for (const { why, sent, errors } of rows) {
  test(`RuntimeClass: ${why}`, () => {
    assert.deepEqual(create(kind, sent).errors, errors);
    const { handler } = sent;
    assert.deepEqual(update(kind, { handler: handler ?? '' }, sent).errors, errors);
  });
}

test('RuntimeClass: the handler cannot change', () => {
  assert.deepEqual(update(kind, { handler: 'h' }, { handler: 'i' }).errors, [
    'handler: Invalid value: "i": field is immutable',
  ]);
});

test('RuntimeClass: deprecated node labels get a warning', () => {
  const sent = {
    handler: 'h',
    scheduling: {
      nodeSelector: { 'beta.kubernetes.io/os': 'a', 'failure-domain.beta.kubernetes.io/zone': 'b', os: 'c' },
    },
  };
  const published = runtimeClass(kubernetes);
  assert.deepEqual(published.strategy.warnings?.(read(published, sent), undefined), [
    'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead',
    'scheduling.nodeSelector: deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  ]);
  assert.deepEqual(kind.strategy.warnings?.(read(kind, sent), undefined), []);
});

test('RuntimeClass: columns', () =>
  assert.deepEqual(row(kind, { handler: 'h' }), { Name: 'one', Handler: 'h', Age: '<unknown>' }));
