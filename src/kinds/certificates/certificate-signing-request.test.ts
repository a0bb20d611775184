import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, it, test } from 'node:test';
import { limits } from '../../base/limits.ts';
import { dialects } from '../../dialect/dialects.ts';
import { orch } from '../../dialect/orch.ts';
import { signerNames } from '../../dialect/signer-names.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { describeFieldError } from '../../meta/field-error.ts';
import { makeCertificate } from '../../pki/certificate-fixture.ts';
import { makeRequest, requestToPem } from '../../pki/certificate-request-fixture.ts';
import { objectIdentifier, sequence } from '../../pki/der.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { type StructSchema, schemaOf } from '../../schema/schema.ts';
import type { Kind } from '../kind.ts';
import { now, read, row, type Sent, viewOf } from '../strategy-fixture.ts';
import type { Validation } from '../validation.ts';
import { certificateSigningRequest } from './certificate-signing-request.ts';

const kind = certificateSigningRequest(orch);
const alice: UserInfo = { username: 'alice', uid: 'u-1', groups: ['dev'], extra: { team: ['blue'] } };
const contextOf = (requested: Kind) => ({ dialect: orch, user: alice, now, requested });
const context = contextOf(kind);

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');
const texts = async (errors: Validation | undefined): Promise<string[]> =>
  ((await errors) ?? []).map((error) => `${error.field}: ${describeFieldError(error)}`);

const request = base64(requestToPem(makeRequest()));
const valid = { request, signerName: 'example.com/one', usages: ['client auth'] };

function created(sent: Sent): ApiObject {
  const object = read(kind, sent);
  kind.strategy.prepareForCreate?.(object, context);
  return object;
}

const refusals = (spec: Sent): Promise<string[]> =>
  texts(kind.strategy.validateCreate?.(created({ spec: { ...valid, ...spec } }), context));

interface Updated {
  readonly object: ApiObject;
  readonly errors: readonly string[];
}

/** Updates a stored request with this status through a subresource. */
async function update(name: string, before: Sent, status: Sent, spec: Sent = valid): Promise<Updated> {
  const old = read(kind, { spec, status: before });
  const text = JSON.stringify(old);
  const object = read(kind, { spec, status });
  const view = viewOf(kind, name);
  view.prepareForUpdate?.(object, old, context);
  const errors = await texts(view.validateUpdate?.(object, old, context));
  assert.equal(JSON.stringify(old), text, 'the stored object was changed');
  return { object, errors };
}

const condition = (type: string, more: Sent = {}): Sent => ({ type, status: 'True', ...more });
const stamp = '2026-01-10T00:00:00Z';
const earlier = '2025-01-01T00:00:00Z';
const timed = (type: string, more: Sent = {}): Sent =>
  condition(type, { lastUpdateTime: earlier, lastTransitionTime: earlier, ...more });

describe('creation of a certificate signing request', () => {
  it('stamps who asks, over what the client says', () => {
    const spoofed = { username: 'root', uid: 'x', groups: ['system:masters'], extra: { a: ['b'] } };
    const { username, uid, groups, extra } = alice;
    assert.deepEqual(created({ spec: { ...valid, ...spoofed } })['spec'], { ...valid, username, uid, groups, extra });
  });

  it('is not decided already', () => {
    const status = { conditions: [condition('Approved')], certificate: 'AAAA' };
    assert.deepEqual(created({ spec: valid, status })['status'], {});
  });

  it('needs a request, usages and a signer', async () => {
    const object = created({ spec: {} });
    assert.deepEqual(await texts(kind.strategy.validateCreate?.(object, context)), [
      'spec.request: Invalid value: "<certificate request>": PEM block type must be CERTIFICATE REQUEST',
      'spec.usages: Required value',
      'spec.signerName: Required value',
    ]);
  });
});

const rsa = (bits: number): string => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits });
  const der = makeRequest({
    publicKey: publicKey.export({ type: 'spki', format: 'der' }),
    algorithm: sequence(objectIdentifier('1.2.840.113549.1.1.11'), Buffer.from([5, 0])),
    sign: (content) => sign('sha256', content, privateKey),
  });
  return base64(requestToPem(der));
};

const words = {
  pem: 'spec.request: Invalid value: "<certificate request>": PEM block type must be CERTIFICATE REQUEST',
  short: 'spec.expirationSeconds: Invalid value: %: may not specify a duration less than 600 seconds (10 minutes)',
  form: "must be a fully qualified domain and path of the form 'example.com/signer-name'",
  certificates: 'must contain at least one CERTIFICATE PEM block',
} as const;

const usageNames =
  '"any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment", "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel", "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime", "server auth", "signing", "timestamping"';
const unknownUsage = (at: number, usage: string): string =>
  `spec.usages[${at}]: Unsupported value: ${JSON.stringify(usage)}: supported values: ${usageNames}`;

describe('the spec of a certificate signing request', () => {
  const rows: readonly (readonly [what: string, spec: Sent, errors: readonly string[]])[] = [
    ['is taken', {}, []],
    ['of 600 seconds', { expirationSeconds: 600 }, []],
    ['of 599 seconds', { expirationSeconds: 599 }, [words.short.replace('%', '599')]],
    ['of less than nothing', { expirationSeconds: -1 }, [words.short.replace('%', '-1')]],
    ['without PEM', { request: base64('hello') }, [words.pem]],
    [
      'with a forged signature',
      { request: base64(requestToPem(makeRequest({ sign: () => Buffer.alloc(64) }))) },
      ['spec.request: Invalid value: "<certificate request>": x509: Ed25519 verification failure'],
    ],
    ['without usages', { usages: [] }, ['spec.usages: Required value']],
    ['with an unknown usage', { usages: ['client auth', 'fly'] }, [unknownUsage(1, 'fly')]],
    ['with an empty usage', { usages: [''] }, [unknownUsage(0, '')]],
    ['with a usage in capitals', { usages: ['Client Auth'] }, [unknownUsage(0, 'Client Auth')]],
    ['with a usage twice', { usages: ['any', 'signing', 'any'] }, ['spec.usages[2]: Duplicate value: "any"']],
    ['for a bare signer', { signerName: 'one' }, [`spec.signerName: Invalid value: "one": ${words.form}`]],
    [
      'for a signer with two slashes',
      { signerName: 'a.b/c/d' },
      [`spec.signerName: Invalid value: "a.b/c/d": ${words.form}`],
    ],
    [
      'for a signer of one label',
      { signerName: 'a/b' },
      ['spec.signerName: Invalid value: "a": should be a domain with at least two segments separated by dots'],
    ],
    [
      'for the legacy signer',
      { signerName: signerNames(orch).legacyUnknown },
      [
        `spec.signerName: Invalid value: "${signerNames(orch).legacyUnknown}": the legacy signerName is not allowed via this API version`,
      ],
    ],
    [
      'for a signer with a long name',
      { signerName: `a.${'b'.repeat(600)}/c` },
      ['spec.signerName: Too long: may not be more than 571 bytes'],
    ],
  ];
  for (const [what, spec, errors] of rows) it(what, async () => assert.deepEqual(await refusals(spec), errors));

  it('with thousands of wrong usages is refused with bounded findings', async () => {
    assert.equal((await refusals({ usages: Array(5_000).fill('fly') })).length, limits.findingsMax);
  });

  it('with a short RSA key is refused for the signers of the server only', async () => {
    const { client, nodeClient, nodeServing } = signerNames(orch);
    const [weak, strong] = [rsa(1024), rsa(2048)];
    for (const signerName of [client, nodeClient, nodeServing]) {
      const detail = `${signerName} signs no RSA key of less than 2048 bits`;
      assert.deepEqual(await refusals({ signerName, request: weak }), [
        `spec.request: Invalid value: "<certificate request>": ${detail}`,
      ]);
      assert.deepEqual(await refusals({ signerName, request: strong }), []);
    }
    assert.deepEqual(await refusals({ request: weak }), []);
  });
});

test('a certificate signing request is not changed by an update of the object', () => {
  const old = read(kind, { spec: valid });
  const object = read(kind, { spec: { ...valid, usages: ['any'], username: 'root' } });
  kind.strategy.prepareForUpdate?.(object, old, context);
  assert.deepEqual(object['spec'], old['spec']);
});

test('a certificate signing request whose stored spec breaks the rules of today is still decided on', async () => {
  const spec = {
    request: 'AAAA',
    signerName: signerNames(orch).legacyUnknown,
    usages: ['fly', 'fly'],
    expirationSeconds: 1,
  };
  for (const view of ['approval', 'status']) {
    assert.deepEqual((await update(view, {}, { conditions: [timed('Ready')] }, spec)).errors, []);
  }
});

test('the numbers of the published protobuf messages', () => {
  const numbers = (struct: StructSchema): unknown =>
    Object.fromEntries(
      Object.entries(struct.fields).flatMap(([name, field]) => {
        const inner = schemaOf(field);
        const item = inner.type === 'list' ? inner.items : inner;
        if (!field.number || name === 'metadata') return [];
        return [[name, item.type === 'struct' ? [field.number, numbers(item)] : field.number]];
      }),
    );
  const spec = { request: 1, username: 2, uid: 3, groups: 4, usages: 5, extra: 6, signerName: 7, expirationSeconds: 8 };
  const conditions = { type: 1, reason: 2, message: 3, lastUpdateTime: 4, lastTransitionTime: 5, status: 6 };
  assert.deepEqual(numbers(kind.schema), {
    spec: [2, spec],
    status: [3, { conditions: [1, conditions], certificate: 2 }],
  });
});

const C = 'status.conditions';
const exclusive = 'Approved and Denied conditions are mutually exclusive';
const removed = (type: string): string => `${C}: Forbidden: updates may not remove a condition of type "${type}"`;
const added = (type: string): string => `${C}: Forbidden: updates may not add a condition of type "${type}"`;
const onlyTrue = (at: number, status: string): string =>
  `${C}[${at}].status: Unsupported value: "${status}": supported values: "True"`;

describe('conditions of a certificate signing request', () => {
  type Row = readonly [
    what: string,
    before: readonly Sent[],
    after: readonly Sent[],
    approval: readonly string[],
    status: readonly string[],
  ];
  const [approved, denied, failed, custom] = [timed('Approved'), timed('Denied'), timed('Failed'), timed('Ready')];
  const rows: readonly Row[] = [
    ['approved', [], [approved], [], [added('Approved')]],
    ['denied', [], [denied], [], [added('Denied')]],
    ['failed', [], [failed], [], []],
    [
      'both',
      [],
      [approved, denied],
      [`${C}[1].type: Invalid value: "Denied": ${exclusive}`],
      [`${C}[1].type: Invalid value: "Denied": ${exclusive}`, added('Approved'), added('Denied')],
    ],
    [
      'both, the other way round',
      [],
      [denied, approved],
      [`${C}[1].type: Invalid value: "Approved": ${exclusive}`],
      [`${C}[1].type: Invalid value: "Approved": ${exclusive}`, added('Approved'), added('Denied')],
    ],
    [
      'denied after approved',
      [approved],
      [approved, denied],
      [`${C}[1].type: Invalid value: "Denied": ${exclusive}`],
      [`${C}[1].type: Invalid value: "Denied": ${exclusive}`, added('Denied')],
    ],
    [
      'approved turned into denied',
      [approved],
      [denied],
      [removed('Approved')],
      [removed('Approved'), added('Denied')],
    ],
    ['approved removed', [approved], [], [removed('Approved')], [removed('Approved')]],
    ['denied removed', [denied], [], [removed('Denied')], [removed('Denied')]],
    ['failed removed', [approved, failed], [approved], [removed('Failed')], [removed('Failed')]],
    ['another one removed', [approved, custom], [approved], [], []],
    [
      'approved that is False',
      [],
      [timed('Approved', { status: 'False' })],
      [onlyTrue(0, 'False')],
      [onlyTrue(0, 'False'), added('Approved')],
    ],
    [
      'denied that is Unknown',
      [],
      [timed('Denied', { status: 'Unknown' })],
      [onlyTrue(0, 'Unknown')],
      [onlyTrue(0, 'Unknown'), added('Denied')],
    ],
    [
      'failed that is False',
      [approved],
      [approved, timed('Failed', { status: 'False' })],
      [onlyTrue(1, 'False')],
      [onlyTrue(1, 'False')],
    ],
    ['approved set to False', [approved], [timed('Approved', { status: 'False' })], [onlyTrue(0, 'False')], []],
    ['another one that is False', [], [timed('Ready', { status: 'False' })], [], []],
    [
      'without status',
      [],
      [timed('Ready', { status: '' })],
      [`${C}[0].status: Required value`],
      [`${C}[0].status: Required value`],
    ],
    [
      'of an unknown status',
      [],
      [timed('Ready', { status: 'Maybe' })],
      [`${C}[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"`],
      [`${C}[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"`],
    ],
    ['without type', [], [timed('')], [`${C}[0].type: Required value`], [`${C}[0].type: Required value`]],
    [
      'twice',
      [],
      [custom, custom],
      [`${C}[1].type: Duplicate value: "Ready"`],
      [`${C}[1].type: Duplicate value: "Ready"`],
    ],
    [
      'approved twice',
      [approved],
      [approved, approved],
      [`${C}[1].type: Duplicate value: "Approved"`],
      [`${C}[1].type: Duplicate value: "Approved"`, added('Approved')],
    ],
    // What was stored before these rules.
    ['both, as stored', [approved, denied], [approved, denied, custom], [], []],
    ['twice, as stored', [custom, custom], [custom, custom], [], []],
    ['without type, as stored', [timed('')], [timed(''), approved], [], [added('Approved')]],
  ];
  for (const [what, before, after, approval, status] of rows) {
    it(`${what}: by approval`, async () =>
      assert.deepEqual((await update('approval', { conditions: before }, { conditions: after })).errors, approval));
    it(`${what}: by status`, async () =>
      assert.deepEqual((await update('status', { conditions: before }, { conditions: after })).errors, status));
  }

  it('are bounded in number, but for those that are there', async () => {
    const many = Array.from({ length: limits.requestConditionsMax + 1 }, (_, at) => timed(`c${at}`));
    const tooMany = `${C}: Too many: ${many.length}: must have at most ${limits.requestConditionsMax} items`;
    for (const view of ['approval', 'status']) {
      assert.deepEqual((await update(view, {}, { conditions: many })).errors, [tooMany]);
      assert.deepEqual((await update(view, { conditions: many }, { conditions: many })).errors, []);
    }
  });

  const timeRows: readonly (readonly [what: string, before: readonly Sent[], sent: Sent, times: readonly string[]])[] =
    [
      ['of a new condition are set', [], condition('Ready'), [stamp, stamp]],
      ['that are given stay', [], timed('Ready'), [earlier, earlier]],
      [
        'of a condition that stays as it was: the transition stays',
        [timed('Ready')],
        condition('Ready'),
        [stamp, earlier],
      ],
      [
        'of one that is stored twice: the first transition counts',
        [timed('Ready'), timed('Ready', { lastTransitionTime: stamp })],
        condition('Ready'),
        [stamp, earlier],
      ],
      [
        'of a condition that changes are set',
        [timed('Ready')],
        condition('Ready', { status: 'False' }),
        [stamp, stamp],
      ],
    ];
  for (const [what, before, sent, times] of timeRows) {
    for (const view of ['approval', 'status']) {
      it(`times ${what}: by ${view}`, async () => {
        const { object } = await update(view, { conditions: before }, { conditions: [sent] });
        const [found] = (object['status'] as { readonly conditions: readonly Record<string, string>[] }).conditions;
        assert.deepEqual([found?.['lastUpdateTime'], found?.['lastTransitionTime']], times);
      });
    }
  }

  it('by status keeps the words of a decision', async () => {
    const sent = [condition('Approved', { message: 'changed' }), condition('Ready')];
    const { object } = await update('status', { conditions: [approved] }, { conditions: sent });
    const [first] = (object['status'] as { readonly conditions: readonly Sent[] }).conditions;
    assert.deepEqual(first, approved);
  });
});

const leaf = makeCertificate({ name: 'leaf' });
const other = makeCertificate({ name: 'other' });
const block = (der: Buffer, label = 'CERTIFICATE', headers = ''): string =>
  `-----BEGIN ${label}-----\n${headers}${der.toString('base64')}\n-----END ${label}-----\n`;

describe('the certificate of a certificate signing request', () => {
  const approved = [timed('Approved')];
  const problem = (text: string): string => `status.certificate: Invalid value: "<certificate data>": ${text}`;
  const malformed = problem('x509: malformed certificate');
  const der = leaf.certificate.raw;
  const rows: readonly (readonly [what: string, pem: string | Buffer, errors: readonly string[]])[] = [
    ['one', leaf.cert, []],
    ['a chain', leaf.cert + other.cert, []],
    ['with text around and between', `issued\n${leaf.cert}by\n${other.cert}end`, []],
    ['two in one block', block(Buffer.concat([der, other.certificate.raw])), []],
    ['no PEM', 'hello', [problem(words.certificates)]],
    ['DER', der, [problem(words.certificates)]],
    ['a key', leaf.key, [problem('only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"')]],
    [
      'a key behind it',
      leaf.cert + leaf.key,
      [problem('only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"')],
    ],
    [
      'another label',
      block(der, 'X509 CERTIFICATE'),
      [problem('only CERTIFICATE PEM blocks are allowed, found "X509 CERTIFICATE"')],
    ],
    [
      'more malformed blocks than are looked at',
      '-----BEGIN A-----\n'.repeat(10_001) + leaf.cert,
      [problem('more than 10000 lines of headers and malformed PEM blocks')],
    ],
    ['headers', block(der, 'CERTIFICATE', 'A: b\n\n'), [problem('no PEM block headers are permitted')]],
    [
      'headers in the second block',
      leaf.cert + block(der, 'CERTIFICATE', 'A: b\n\n'),
      [problem('no PEM block headers are permitted')],
    ],
    [
      'an empty block',
      '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n',
      [problem('found CERTIFICATE PEM block containing 0 certificates')],
    ],
    ['garbage', block(Buffer.from('junk')), [malformed]],
    ['garbage in the second block', leaf.cert + block(Buffer.from('junk')), [malformed]],
    ['cut short', block(der.subarray(0, -1)), [malformed]],
    ['bytes behind it', block(Buffer.concat([der, Buffer.from([1])])), [malformed]],
    ['a request', block(makeRequest()), [malformed]],
    ['as large as it may be', block(Buffer.alloc(limits.certificateBytesMax)), [malformed]],
    [
      'too large',
      block(Buffer.alloc(limits.certificateBytesMax + 1)),
      [problem('a CERTIFICATE PEM block is larger than 32768 bytes')],
    ],
  ];
  for (const [what, pem, errors] of rows) {
    it(what, async () =>
      assert.deepEqual(
        (await update('status', { conditions: approved }, { conditions: approved, certificate: base64(pem) })).errors,
        errors,
      ),
    );
  }

  const C1 = 'status.certificate: Forbidden: updates may not modify existing certificate content';
  const without = 'status.certificate: Forbidden: a request that is denied or failed has no certificate';
  const one = base64(leaf.cert);
  type Row = readonly [what: string, before: Sent, after: Sent, errors: readonly string[]];
  const transitions: readonly Row[] = [
    ['stays', { conditions: approved, certificate: one }, { conditions: approved, certificate: one }, []],
    [
      'is not replaced',
      { conditions: approved, certificate: one },
      { conditions: approved, certificate: base64(other.cert) },
      [C1],
    ],
    [
      'is not extended',
      { conditions: approved, certificate: one },
      { conditions: approved, certificate: base64(leaf.cert + other.cert) },
      [C1],
    ],
    ['is not removed', { conditions: approved, certificate: one }, { conditions: approved }, [C1]],
    [
      'is not set once denied',
      { conditions: [timed('Denied')] },
      { conditions: [timed('Denied')], certificate: one },
      [without],
    ],
    [
      'is not set once failed',
      { conditions: [...approved, timed('Failed')] },
      { conditions: [...approved, timed('Failed')], certificate: one },
      [without],
    ],
    [
      'is not set with a failure',
      { conditions: approved },
      { conditions: [...approved, timed('Failed')], certificate: one },
      [without],
    ],
    [
      'is there: it has not failed',
      { conditions: approved, certificate: one },
      { conditions: [...approved, timed('Failed')], certificate: one },
      [without],
    ],
    [
      'that is broken and stored may stay',
      { conditions: approved, certificate: 'AAAA' },
      { conditions: [...approved, timed('Ready')], certificate: 'AAAA' },
      [],
    ],
    [
      'that is stored with a denial may stay',
      { conditions: [timed('Denied')], certificate: one },
      { conditions: [timed('Denied'), timed('Ready')], certificate: one },
      [],
    ],
  ];
  for (const [what, before, after, errors] of transitions) {
    it(what, async () => assert.deepEqual((await update('status', before, after)).errors, errors));
  }

  it('is not changed by approval', async () => {
    for (const certificate of [undefined, base64(other.cert)]) {
      const { object, errors } = await update(
        'approval',
        { certificate: one },
        { conditions: approved, ...(certificate && { certificate }) },
      );
      assert.deepEqual([errors, object['status']], [[], { conditions: approved, certificate: one }]);
    }
    const { object } = await update('approval', {}, { conditions: approved, certificate: one });
    assert.deepEqual(object['status'], { conditions: approved });
  });

  it('is there: the request is not denied', async () => {
    assert.deepEqual((await update('approval', { certificate: one }, { conditions: [timed('Denied')] })).errors, [
      without,
    ]);
  });

  it('of hundreds is checked in slices', async () => {
    const chain = base64(leaf.cert.repeat(limits.certificateStepsPerSlice * 20));
    let turns = 0;
    const turn = (): void => {
      turns++;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    const { errors } = await update('status', { conditions: approved }, { conditions: approved, certificate: chain });
    clearImmediate(next);
    assert.deepEqual(errors, []);
    assert.ok(turns >= 20, `${turns} turns of the event loop`);
  });
});

describe('the row of a certificate signing request', () => {
  const spec = { ...valid, username: 'alice' };
  const rows: readonly (readonly [status: Sent, state: string])[] = [
    [{}, 'Pending'],
    [{ conditions: [timed('Ready')] }, 'Pending'],
    [{ conditions: [timed('Approved')] }, 'Approved'],
    [{ conditions: [timed('Approved'), timed('Denied')] }, 'Denied'],
    [{ conditions: [timed('Approved'), timed('Failed')] }, 'Approved,Failed'],
    [{ conditions: [timed('Approved')], certificate: 'AAAA' }, 'Approved,Issued'],
    [{ conditions: [timed('Failed')] }, 'Pending,Failed'],
  ];
  for (const [status, state] of rows) it(state, () => assert.equal(row(kind, { spec, status })['Condition'], state));

  it('has the published columns', () => {
    const metadata = { creationTimestamp: '2026-01-09T00:00:00Z' };
    assert.deepEqual(row(kind, { metadata, spec: { ...spec, expirationSeconds: 86_400 } }), {
      Name: 'one',
      Age: '24h',
      SignerName: 'example.com/one',
      Requestor: 'alice',
      RequestedDuration: '24h',
      Condition: 'Pending',
    });
    assert.equal(row(kind, { spec })['RequestedDuration'], '<none>');
  });
});

describe('counters of wanted lifetimes', () => {
  const hourSeconds = 3600;
  const certificateOf = (seconds: number): string =>
    base64(makeCertificate({ notBefore: now, notAfter: now + seconds * 1000 }).cert);
  const [requested, honored] = ['csr_requested_duration_total', 'csr_honored_duration_total'];
  type Row = readonly [what: string, spec: Sent, before: string, after: string, counted: readonly string[]];
  const rows: readonly Row[] = [
    ['no lifetime is wanted', {}, '', certificateOf(hourSeconds), []],
    ['no certificate', { expirationSeconds: hourSeconds }, '', '', []],
    ['a certificate that was there', { expirationSeconds: hourSeconds }, 'AAAA', 'AAAA', []],
    ['as wanted', { expirationSeconds: hourSeconds }, '', certificateOf(hourSeconds), [requested, honored]],
    ['back-dated', { expirationSeconds: hourSeconds }, '', certificateOf(hourSeconds + 300), [requested, honored]],
    ['longer', { expirationSeconds: hourSeconds }, '', certificateOf(hourSeconds + 480), [requested]],
    ['shorter', { expirationSeconds: 10 * hourSeconds }, '', certificateOf(hourSeconds), [requested]],
  ];
  for (const dialect of Object.values(dialects)) {
    const each = certificateSigningRequest(dialect);
    const { client } = signerNames(dialect);
    for (const [what, spec, before, after, names] of rows) {
      for (const [signerName, label] of [
        [client, client],
        ['example.com/one', 'other'],
      ] as const) {
        it(`${dialect.name}: ${what}, by ${signerName}`, () => {
          const objectOf = (certificate: string): ApiObject =>
            read(each, { spec: { ...valid, signerName, ...spec }, status: { certificate } });
          const counted = each.strategy.countUpdate?.(objectOf(after), objectOf(before)) ?? [];
          const found = counted.map(({ counter, labels }) => [counter.name, labels]);
          assert.deepEqual(
            found,
            names.map((name) => [`apiserver_certificates_registry_${name}`, { signerName: label }]),
          );
        });
      }
    }
  }
});
