import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { kubernetes } from '../../dialect/kubernetes.ts';
import { orch } from '../../dialect/orch.ts';
import { makeCertificate } from '../../pki/certificate-fixture.ts';
import { createLater as create, read, row, type Sent, updateLater as update } from '../strategy-fixture.ts';
import { clusterTrustBundle } from './cluster-trust-bundle.ts';

const kind = clusterTrustBundle(orch);
const one = makeCertificate({ name: 'one', authority: true }).cert;
const two = makeCertificate({ name: 'two', authority: true }).cert;
const leaf = makeCertificate({ name: 'leaf' }).cert;
const signer = 'example.com/signer';

const bundle = (trustBundle: string, name = 'one'): Sent => ({ metadata: { name }, spec: { trustBundle } });
const ofSigner = (signerName: string, metadata: object): Sent => ({ metadata, spec: { signerName, trustBundle: one } });
const at = (detail: string): string => `spec.trustBundle: Invalid value: "<value omitted>": ${detail}`;
const block = (label: string, data = 'AAAA'): string => `-----BEGIN ${label}-----\n${data}\n-----END ${label}-----\n`;
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const noColon = 'ClusterTrustBundle without signer name must not have ":" in its name';
const prefixed = 'ClusterTrustBundle for signerName example.com/signer must be named with prefix example.com:signer:';
const noAnchor = at('at least one trust anchor must be provided');

const bundles: readonly (readonly [why: string, trustBundle: string, errors: readonly string[]])[] = [
  ['one certificate', one, []],
  ['two', one + two, []],
  ['text between', `one:\n${one}\ntwo:\n${two}#`, []],
  ['CRLF', one.replaceAll('\n', '\r\n'), []],
  ['nothing', '', [noAnchor]],
  ['no PEM', 'a certificate', [noAnchor]],
  ['no end', one.slice(0, -10), [noAnchor]],
  ['another block', block('PRIVATE KEY'), [at('entry 0 has bad block type: PRIVATE KEY')]],
  ['headers', one.replace('-----\n', '-----\nA: b\n\n'), [at('entry 0 has PEM block headers')]],
  [
    'more malformed blocks than are looked at',
    '-----BEGIN A-----\n'.repeat(10_001) + one,
    [at('more than 10000 lines of headers and malformed PEM blocks')],
  ],
  ['no X.509', one + block('CERTIFICATE'), [at('entry 1 does not parse as X.509')]],
  ['no authority', leaf, [at('entry 0 does not have the CA bit set')]],
  ['a duplicate', one + two + one, [at('duplicate trust anchor (indices [0 2])')]],
  [
    'duplicates',
    one + two + one + two + one,
    ['0 2 4', '1 3'].map((same) => at(`duplicate trust anchor (indices [${same}])`)),
  ],
  [
    'several faults',
    one + leaf + one + block('X'),
    [at('entry 1 does not have the CA bit set'), at('entry 3 has bad block type: X')],
  ],
  ['the limit', one.padEnd(limits.trustBundleBytesMax, '\n'), []],
  [
    'past the limit',
    one.padEnd(limits.trustBundleBytesMax, '\n').concat(' '),
    ['spec.trustBundle: Too long: may not be more than 1048576 bytes'],
  ],
  [
    'past the limit in bytes',
    one.padEnd(limits.trustBundleBytesMax - 1, '\n').concat('é'),
    ['spec.trustBundle: Too long: may not be more than 1048576 bytes'],
  ],
];

const names: readonly (readonly [why: string, sent: Sent, errors: readonly string[]])[] = [
  ['no signer', bundle(one, 'a.b-c'), []],
  [
    'no signer, a colon',
    bundle(one, 'example.com:signer:a'),
    [`metadata.name: Invalid value: "example.com:signer:a": ${noColon}`],
  ],
  ['no signer, no DNS name', bundle(one, 'A'), [`metadata.name: Invalid value: "A": ${subdomain}`]],
  ['no signer, a prefix', { metadata: { name: 'a-1', generateName: 'a-' }, spec: { trustBundle: one } }, []],
  ['a signer', ofSigner(signer, { name: 'example.com:signer:a.b-c' }), []],
  [
    'a signer, a prefix',
    ofSigner(signer, { name: 'example.com:signer:a-1', generateName: 'example.com:signer:a-' }),
    [],
  ],
  [
    'a signer, another prefix',
    ofSigner(signer, { name: 'example.com:signer:a', generateName: 'a-' }),
    [`metadata.generateName: Invalid value: "a-": ${prefixed}`],
  ],
  ['a signer, another name', ofSigner(signer, { name: 'a' }), [`metadata.name: Invalid value: "a": ${prefixed}`]],
  [
    'a signer, the name of another',
    ofSigner(signer, { name: 'example.com:signer2:a' }),
    [`metadata.name: Invalid value: "example.com:signer2:a": ${prefixed}`],
  ],
  [
    'a signer, no suffix',
    ofSigner(signer, { name: 'example.com:signer:' }),
    [`metadata.name: Invalid value: "example.com:signer:": ${subdomain}`],
  ],
  [
    'a signer, a colon in the suffix',
    ofSigner(signer, { name: 'example.com:signer:a:b' }),
    [`metadata.name: Invalid value: "example.com:signer:a:b": ${subdomain}`],
  ],
];

const path = 'spec.signerName';
const long = 'a'.repeat(63);
const signers: readonly (readonly [name: string, errors: readonly string[]])[] = [
  ['example.com/a.b-c', []],
  [`${[long, long, long, 'a'.repeat(61)].join('.')}/${long}.${'b'.repeat(253)}`, []],
  [
    'signer',
    [
      `${path}: Invalid value: "signer": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
    ],
  ],
  [
    'a.b/c/d',
    [
      `${path}: Invalid value: "a.b/c/d": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
    ],
  ],
  ['example/a', [`${path}: Invalid value: "example": should be a domain with at least two segments separated by dots`]],
  ['Example.COM/a', [`${path}: Invalid value: "Example.COM": validating label "Example": ${label}`]],
  [
    '/a',
    [
      `${path}: Invalid value: "": validating label "": ${label}`,
      `${path}: Invalid value: "": should be a domain with at least two segments separated by dots`,
    ],
  ],
  ['example.com/', [`${path}: Invalid value: "": validating label "": ${subdomain}`]],
  ['example.com/a..B', [`${path}: Invalid value: "a..B": validating label "": ${subdomain}`]],
  [`${`${long}.`.repeat(4)}com/a`, [`${path}: Too long: may not be more than 253 bytes`]],
  [`example.com/${long}.${'b'.repeat(253)}.${'c'.repeat(253)}`, [`${path}: Too long: may not be more than 571 bytes`]],
];

describe('ClusterTrustBundle', () => {
  for (const [why, trustBundle, errors] of bundles) {
    test(`bundle: ${why}`, async () => assert.deepEqual((await create(kind, bundle(trustBundle))).errors, errors));
  }
  for (const [why, sent, errors] of names) {
    test(`name: ${why}`, async () => assert.deepEqual((await create(kind, sent)).errors, errors));
  }
  for (const [name, errors] of signers) {
    test(`signer: ${name.slice(0, 20)}, ${name.length} bytes`, async () => {
      const sent = ofSigner(name, { name: `${name.replaceAll('/', ':')}:a` });
      assert.deepEqual((await create(kind, sent)).errors, errors);
    });
  }

  test('certificates are read in slices of few', async () => {
    const count = 100;
    const ready = create(kind, bundle(one.repeat(count)));
    let [turns, done] = [0, false];
    void ready.then(() => (done = true));
    for (; !done; turns++) await new Promise(setImmediate);
    assert.equal((await ready).errors.length, 1);
    assert.ok(turns >= Math.floor(count / limits.certificateStepsPerSlice), `${turns} turns`);
  });

  test('faults are counted', async () => {
    const { errors } = await create(kind, bundle(block('X').repeat(limits.findingsMax + 10)));
    assert.equal(errors.length, limits.findingsMax);
  });

  test('a bundle that does not change is not checked again', async () => {
    for (const trustBundle of ['garbage', leaf, one + one]) {
      const old = read(kind, bundle(trustBundle));
      const sent = { ...bundle(trustBundle), metadata: { name: 'one', labels: { a: 'b' } } };
      assert.deepEqual((await update(kind, old, sent)).errors, []);
      assert.equal((await update(kind, old, bundle(`${trustBundle}\n`))).errors.length, 1);
      assert.deepEqual((await update(kind, old, bundle(two))).errors, []);
    }
  });

  const immutable = (value: string): string =>
    `spec.signerName: Invalid value: ${JSON.stringify(value)}: field is immutable`;
  const named = ofSigner(signer, { name: 'example.com:signer:a' });
  for (const [why, old, sent, errors] of [
    ['kept', named, named, []],
    [
      'set',
      bundle(one),
      ofSigner(signer, { name: 'one' }),
      [`metadata.name: Invalid value: "one": ${prefixed}`, immutable(signer)],
    ],
    [
      'removed',
      named,
      bundle(one, 'example.com:signer:a'),
      [`metadata.name: Invalid value: "example.com:signer:a": ${noColon}`, immutable('')],
    ],
    [
      'changed',
      named,
      ofSigner('example.com/other', { name: 'example.com:signer:a' }),
      [
        'metadata.name: Invalid value: "example.com:signer:a": ClusterTrustBundle for signerName example.com/other must be named with prefix example.com:other:',
        immutable('example.com/other'),
      ],
    ],
  ] as const) {
    test(`the signer of an update: ${why}`, async () =>
      assert.deepEqual([...(await update(kind, old, sent)).errors].sort(), errors));
  }

  test('without a spec', async () =>
    assert.deepEqual((await create(kind, { metadata: { name: 'a' } })).errors, [noAnchor]));

  test('columns', () => {
    assert.deepEqual(row(kind, named), { Name: 'example.com:signer:a', SignerName: signer });
    assert.deepEqual(row(kind, bundle(one)), { Name: 'one', SignerName: '<none>' });
  });

  test('what it is', () => {
    assert.deepEqual(
      [kind.group, clusterTrustBundle(kubernetes).group],
      ['certificates.orch.io', 'certificates.k8s.io'],
    );
    assert.deepEqual(
      [kind.version, kind.offByDefault, kind.createOnUpdate, kind.unconditionalUpdate],
      ['v1alpha1', true, false, false],
    );
    assert.deepEqual(
      kind.selectableFields.map((each) => each.label),
      ['spec.signerName'],
    );
  });
});
