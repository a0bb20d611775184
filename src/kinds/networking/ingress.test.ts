import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { anonymousUser } from '../../request/user-info.ts';
import { create, read, row, type Sent, update } from '../strategy-fixture.ts';
import { ingress } from './ingress.ts';

const kind = ingress(orch);
const backend = { service: { name: 's', port: { number: 80 } } };
const valid = { defaultBackend: backend };
const atPath = (path: Sent): Sent => ({
  rules: [{ http: { paths: [{ path: '/', pathType: 'Prefix', backend, ...path }] } }],
});
const atBackend = (sent: Sent): Sent => ({ defaultBackend: sent });
const atHost = (host: string): Sent => ({ ...valid, rules: [{ host }] });
const path = 'spec.rules[0].http.paths[0]';
const notDns = /^spec\.rules\[0\]\.host: Invalid value: ".*": a lowercase RFC 1123 subdomain must consist of/;
const wildcard =
  /a wildcard DNS-1123 subdomain must start with '\*\.', followed by a valid DNS subdomain, .* \(e\.g\. '\*\.example\.com', regex used for validation is '\\\*\\\.\[a-z0-9\].*'\)$/;

const rows: readonly [why: string, spec: Sent, errors: readonly (string | RegExp)[]][] = [
  ['a default backend', valid, []],
  [
    'nothing',
    {},
    ['spec: Invalid value: []networking.IngressRule(nil): either `defaultBackend` or `rules` must be specified'],
  ],
  ['a rule for all hosts', { rules: [{}] }, []],
  ['a host', atHost('a.example'), []],
  ['a wildcard', atHost('*.a.example'), []],
  [
    'an address',
    atHost('192.0.2.1'),
    ['spec.rules[0].host: Invalid value: "192.0.2.1": must be a DNS name, not an IP address'],
  ],
  ['capitals', atHost('A.example'), [notDns]],
  ['a wildcard in the middle', atHost('a.*.example'), [wildcard]],
  ['no paths', { rules: [{ http: {} }] }, ['spec.rules[0].http.paths: Required value']],
  ['no path type', atPath({ pathType: null }), [`${path}.pathType: Required value: pathType must be specified`]],
  [
    'another path type',
    atPath({ pathType: 'Regex' }),
    [`${path}.pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"`],
  ],
  ['a relative path', atPath({ path: 'a' }), [`${path}.path: Invalid value: "a": must be an absolute path`]],
  ['no path', atPath({ path: '', pathType: 'Exact' }), [`${path}.path: Invalid value: "": must be an absolute path`]],
  ['no path is needed', atPath({ path: '', pathType: 'ImplementationSpecific' }), []],
  [
    'a relative path of any type',
    atPath({ path: 'a', pathType: 'ImplementationSpecific' }),
    [`${path}.path: Invalid value: "a": must be an absolute path`],
  ],
  ['any sequence', atPath({ path: '/a//b/..', pathType: 'ImplementationSpecific' }), []],
  ...(['//', '/./', '/../', '%2f', '%2F'] as const).map((part): [string, Sent, string[]] => [
    `a path with ${part}`,
    atPath({ path: `/a${part}b` }),
    [`${path}.path: Invalid value: "/a${part}b": must not contain '${part}'`],
  ]),
  [
    'a path that ends in /..',
    atPath({ path: '/a/..' }),
    [`${path}.path: Invalid value: "/a/..": cannot end with '/..'`],
  ],
  ['a path that ends in /.', atPath({ path: '/a/.' }), [`${path}.path: Invalid value: "/a/.": cannot end with '/.'`]],
  [
    'a path to nowhere',
    atPath({ backend: {} }),
    [`${path}.backend: Invalid value: "": resource or service backend is required`],
  ],
  ['no backend', atBackend({}), ['spec.defaultBackend: Invalid value: "": resource or service backend is required']],
  [
    'two backends',
    atBackend({ ...backend, resource: { kind: 'K', name: 'n' } }),
    ['spec.defaultBackend: Invalid value: "": cannot set both resource and service backends'],
  ],
  ['a resource', atBackend({ resource: { apiGroup: 'x.io', kind: 'K', name: 'n' } }), []],
  [
    'a bad resource',
    atBackend({ resource: { apiGroup: 'X', kind: 'a/b', name: '' } }),
    [
      /^spec\.defaultBackend\.resource\.apiGroup: Invalid value: "X": a lowercase RFC 1123 subdomain/,
      'spec.defaultBackend.resource.kind: Invalid value: "a/b": may not contain \'/\'',
      'spec.defaultBackend.resource.name: Required value: name is required',
    ],
  ],
  [
    'no service name',
    atBackend({ service: { port: { number: 80 } } }),
    ['spec.defaultBackend.service.name: Required value'],
  ],
  [
    'a bad service name',
    atBackend({ service: { name: '1a', port: { number: 80 } } }),
    [/^spec\.defaultBackend\.service\.name: Invalid value: "1a": a DNS-1035 label must consist/],
  ],
  [
    'no port',
    atBackend({ service: { name: 's' } }),
    ['spec.defaultBackend: Required value: port name or number is required'],
  ],
  [
    'two ports',
    atBackend({ service: { name: 's', port: { name: 'a', number: 1 } } }),
    ['spec.defaultBackend: Invalid value: "": cannot set both port name & port number'],
  ],
  [
    'a bad port',
    atBackend({ service: { name: 's', port: { number: 65536 } } }),
    ['spec.defaultBackend.service.port.number: Invalid value: 65536: must be between 1 and 65535, inclusive'],
  ],
  [
    'a bad port name',
    atBackend({ service: { name: 's', port: { name: '80' } } }),
    ['spec.defaultBackend.service.port.name: Invalid value: "80": must contain at least one letter (a-z)'],
  ],
  ['a certificate', { ...valid, tls: [{ hosts: ['a.example', '*.a.example'], secretName: 's' }, {}] }, []],
  [
    'a bad host of a certificate',
    { ...valid, tls: [{ hosts: ['a', 'A'] }] },
    [/^spec\.tls\[0\]\.hosts\[1\]: Invalid value: "A": a lowercase RFC 1123 subdomain/],
  ],
  ['a bad wildcard of a certificate', { ...valid, tls: [{ hosts: ['*a'] }] }, [wildcard]],
  [
    'a bad secret',
    { ...valid, tls: [{ secretName: 'A' }] },
    [/^spec\.tls\[0\]\.secretName: Invalid value: "A": a lowercase RFC 1123 subdomain/],
  ],
  [
    'a bad class',
    { ...valid, ingressClassName: 'A' },
    [/^spec\.ingressClassName: Invalid value: "A": a lowercase RFC 1123 subdomain/],
  ],
];

function assertErrors(found: readonly string[], expected: readonly (string | RegExp)[]): void {
  assert.equal(found.length, expected.length, found.join('\n'));
  for (const [index, each] of expected.entries()) {
    if (typeof each === 'string') assert.equal(found[index], each);
    else assert.match(found[index] ?? '', each);
  }
}

for (const [why, spec, errors] of rows) {
  test(`Ingress: ${why}`, () => {
    assertErrors(create(kind, { spec }).errors, errors);
    assertErrors(update(kind, { spec: valid }, { spec }).errors, errors);
  });
}

test('Ingress: an update may keep wrong secret names and paths of wildcard hosts, and nothing else that is wrong', () => {
  const wrong = { ...valid, tls: [{ secretName: 'A' }], rules: [{ host: '*.a', http: {} }] };
  const old = read(kind, { spec: wrong });
  assert.deepEqual(
    update(kind, old, { spec: { ...wrong, tls: [{ secretName: 'B' }], rules: [{ host: '*.b', http: {} }] } }).errors,
    [],
  );
  assert.deepEqual(update(kind, old, { spec: { ...wrong, rules: [{ host: 'b', http: {} }] } }).errors, [
    'spec.rules[0].http.paths: Required value',
  ]);
});

for (const dialect of [orch, kubernetes]) {
  const name = `${dialect.domain}/ingress.class`;
  const annotated = (spec: Sent): Sent => ({ metadata: { annotations: { [name]: 'a' } }, spec });
  test(`Ingress (${dialect.name}): the annotation of the class`, () => {
    const made = ingress(dialect);
    const context = { dialect, user: anonymousUser, now: 0, requested: made } as const;
    const errorsOf = (spec: Sent) => made.strategy.validateCreate?.(read(made, annotated(spec)), context);
    const error = {
      type: 'FieldValueInvalid',
      field: `annotations.${name}`,
      value: 'a',
      detail: 'must match `ingressClassName` when both are specified',
    };
    assert.deepEqual(errorsOf({ ...valid, ingressClassName: 'b' }), [error]);
    assert.deepEqual(errorsOf({ ...valid, ingressClassName: 'a' }), []);
    const warningsOf = (spec: Sent) => made.strategy.warnings?.(read(made, annotated(spec)), undefined);
    assert.deepEqual(warningsOf(valid), [
      `annotation "${name}" is deprecated, please use 'spec.ingressClassName' instead`,
    ]);
    assert.deepEqual(warningsOf({ ...valid, ingressClassName: 'a' }), []);
    assert.deepEqual(made.strategy.warnings?.(read(made, annotated(valid)), read(made, annotated(valid))), []);
  });
}

const statuses: readonly [place: Sent, errors: readonly (string | RegExp)[]][] = [
  [{ ip: '192.0.2.1' }, []],
  [{ hostname: 'a.example', ports: [{ port: 0, protocol: '' }] }, []],
  [
    { ip: 'a' },
    [
      'status.loadBalancer.ingress[0].ip: Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ],
  ],
  [
    { hostname: 'A' },
    [/^status\.loadBalancer\.ingress\[0\]\.hostname: Invalid value: "A": a lowercase RFC 1123 subdomain/],
  ],
  [
    { hostname: '192.0.2.1' },
    ['status.loadBalancer.ingress[0].hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address'],
  ],
];

for (const [place, errors] of statuses) {
  test(`Ingress: status ${JSON.stringify(place)}`, () => {
    const status = { loadBalancer: { ingress: [place] } };
    const updated = update(kind, { spec: valid }, { spec: { rules: [{}] }, status }, 'status');
    assertErrors(updated.errors, errors);
    assert.deepEqual(updated.object['spec'], valid);
    assert.deepEqual(create(kind, { spec: valid, status }).object['status'], { loadBalancer: {} });
  });
}

test('Ingress: columns', () => {
  const rules = ['a', '', 'b', 'c', 'd'].map((host) => ({ host }));
  const ingress = [
    { ip: '192.0.2.2' },
    { hostname: 'a.example-of-a-long-name' },
    { ip: '192.0.2.1' },
    { ip: '192.0.2.1' },
  ];
  assert.deepEqual(
    row(kind, { spec: { ingressClassName: 'k', rules, tls: [{}] }, status: { loadBalancer: { ingress } } }),
    {
      Name: 'one',
      Class: 'k',
      Hosts: 'a,b,c + 2 more...',
      Address: '192.0.2.1,192.0.2.2,a.example-of-a-long-name',
      Ports: '80, 443',
      Age: '<unknown>',
    },
  );
  assert.deepEqual(row(kind, { spec: valid }), {
    Name: 'one',
    Class: '<none>',
    Hosts: '*',
    Address: '',
    Ports: '80',
    Age: '<unknown>',
  });
});
