import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubernetes } from '../dialect/kubernetes.ts';
import { orch } from '../dialect/orch.ts';
import { parseAccept } from '../http/accept.ts';
import type { Exchange } from '../http/exchange.ts';
import { status } from '../kinds/meta/status.ts';
import { StatusError } from '../meta/status-error.ts';
import { formatNamed } from './formats/formats.ts';
import { type NegotiateOptions, Negotiator } from './negotiation.ts';

const withHeaders = (headers: Readonly<Record<string, string>>): Exchange =>
  ({ header: (name: string) => headers[name] }) as unknown as Exchange;

const everything: NegotiateOptions = {
  representations: ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'],
};

const refusal = (run: () => unknown): StatusError => {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof StatusError);
    return error;
  }
  throw new assert.AssertionError({ message: 'expected a refusal' });
};

describe('Accept', () => {
  const negotiator = new Negotiator(orch, new Set());
  const chosen = (accept: string | undefined, options = everything): string => {
    try {
      const { format, as } = negotiator.negotiate(withHeaders(accept === undefined ? {} : { accept }), options);
      return as === 'object' ? format : `${format} ${as}`;
    } catch (error) {
      return error instanceof StatusError ? `${error.code} ${error.reason}` : String(error);
    }
  };
  const table = 'application/json;as=Table;v=v1;g=meta.orch.io';
  const rows: readonly (readonly [accept: string | undefined, chosen: string])[] = [
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['application/*', 'json'],
    ['application/json', 'json'],
    ['APPLICATION/JSON', 'json'],
    [' application/json ; charset=utf-8', 'json'],
    ['application/yaml', 'yaml'],
    ['application/yaml, */*', 'yaml'],
    ['*/*, application/yaml', 'yaml'],
    ['application/json;q=0.5, application/yaml', 'yaml'],
    ['application/json;q=0.5, application/yaml;q=0.4', 'json'],
    ['application/json;q=0.001, text/html', 'json'],
    ['application/json;q=0, */*', 'yaml'],
    ['application/json;q=0, application/yaml;q=0, */*', '406 NotAcceptable'],
    ['application/json;q=0', '406 NotAcceptable'],
    ['application/json;q=nonsense', 'json'],
    ['text/html', '406 NotAcceptable'],
    ['application', '406 NotAcceptable'],
    ['*/json', '406 NotAcceptable'],
    [',,;,', '406 NotAcceptable'],
    ['application/vnd.orch.protobuf', '406 NotAcceptable'],
    ['application/vnd.orch.protobuf,application/json', 'json'],
    ['application/vnd.orch.protobuf, */*;q=0.1', 'json'],
    [`${table},application/json`, 'json Table'],
    [`${table.replace('v=v1', 'v=v1beta1')},${table},application/json`, 'json Table'],
    [`${table.replace('v=v1', 'v=v1beta1')},application/json`, 'json Table'],
    [`${table.replace('v=v1', 'v=v1alpha1')},application/json`, 'json'],
    [table.replace('json', 'yaml'), 'yaml Table'],
    [table.replace('application/json', '*/*'), 'json Table'],
    ['application/json; as=Table ; g="meta.orch.io"; v=v1', 'json Table'],
    [`${table.replace('orch.io', 'example.com')}`, '406 NotAcceptable'],
    ['application/json;as=Table', '406 NotAcceptable'],
    ['application/json;g=meta.orch.io;v=v1', '406 NotAcceptable'],
    ['application/json;as=BOGUS;v=v1;g=meta.orch.io, application/json', 'json'],
    ['application/json;as=constructor;v=v1;g=meta.orch.io', '406 NotAcceptable'],
    ['application/json;as=PartialObjectMetadata;v=v1;g=meta.orch.io', 'json PartialObjectMetadata'],
    ['application/json;as=PartialObjectMetadataList;v=v1;g=meta.orch.io', 'json PartialObjectMetadataList'],
    ['application/json;stream=watch', 'json'],
    ['application/json;stream=other', '406 NotAcceptable'],
    ['application/yaml;stream=watch', '406 NotAcceptable'],
    ['application/json;stream=', 'json'],
    ['application/json;sv=1', '406 NotAcceptable'],
    ['application/json;sv=1,application/yaml', 'yaml'],
    ['application/json;sv=', 'json'],
    ['application/json;sv=v1', 'json'],
    ['application/json;export=1;whatever=2', 'json'],
    ['application/json;charset', 'json'],
  ];
  for (const [accept, expected] of rows) {
    it(`${accept === undefined ? 'absent' : JSON.stringify(accept)} is answered with ${expected}`, () => {
      assert.equal(chosen(accept), expected);
      assert.equal(chosen(accept), expected, 'the same when it is remembered');
    });
  }

  it('selects only what the endpoint supports', () => {
    const list: NegotiateOptions = { representations: ['PartialObjectMetadataList'] };
    assert.equal(chosen('application/json;as=PartialObjectMetadata;v=v1;g=meta.orch.io', list), '406 NotAcceptable');
    assert.equal(chosen(table, {}), '406 NotAcceptable');
    assert.equal(chosen(table), 'json Table', 'choices of other endpoints are not mixed up with it');
  });

  it('accepts tables in the groups of both dialects, and answers in the requested one', () => {
    const accept =
      'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json';
    for (const either of [negotiator, new Negotiator(kubernetes, new Set())]) {
      const { as, metaVersion } = either.negotiate(withHeaders({ accept }), everything);
      assert.deepEqual([as, metaVersion], ['Table', 'meta.k8s.io/v1']);
    }
    for (const as of ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList']) {
      const old = `application/json;as=${as};v=v1beta1;g=meta.orch.io,application/json;as=${as};v=v1;g=meta.orch.io`;
      assert.equal(negotiator.negotiate(withHeaders({ accept: old }), everything).metaVersion, 'meta.orch.io/v1beta1');
    }
    const other = 'application/json;as=Table;v=v1;g=meta.example.io,application/json';
    assert.equal(negotiator.negotiate(withHeaders({ accept: other }), everything).as, 'object');
  });

  it('of a watch is JSON only', () => {
    const watch = { ...everything, watch: true };
    assert.equal(chosen('application/json', watch), 'json');
    assert.equal(chosen('application/json;stream=watch', watch), 'json');
    assert.equal(chosen('application/yaml, application/json;q=0.1', watch), 'json');
    assert.equal(chosen(table, watch), 'json Table');
    const refused = refusal(() => negotiator.negotiate(withHeaders({ accept: 'application/yaml' }), watch));
    assert.equal(refused.message, 'only the following media types are accepted: application/json;stream=watch');
  });

  it('accepts protobuf if the endpoint does, under the names of both dialects', () => {
    const either = { ...everything, schema: status };
    const own = 'application/vnd.orch.protobuf';
    const other = 'application/vnd.kubernetes.protobuf';
    const partial = `${other};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1`;
    for (const [accept, expected] of [
      [own, 'protobuf'],
      [`${other},application/json`, 'protobuf'],
      [`application/json,${own}`, 'json'],
      [`${own};q=0.5,application/json`, 'json'],
      [`application/yaml;q=0.5,${own};q=0.6`, 'protobuf'],
      [`${own};q=0,*/*`, 'json'],
      ['*/*', 'json'],
      ['application/*', 'json'],
      [`${own};as=Table;g=meta.orch.io;v=v1,application/json;as=Table;g=meta.orch.io;v=v1`, 'json Table'],
      [`${own};as=Table;g=meta.orch.io;v=v1`, '406 NotAcceptable'],
      [partial, 'protobuf PartialObjectMetadataList'],
    ] as const) {
      assert.equal(chosen(accept, either), expected, accept);
    }
    assert.equal(chosen(own), '406 NotAcceptable', 'choices of other endpoints are not mixed up with it');
    assert.equal(chosen(`${own};stream=watch`, { ...either, watch: true }), 'protobuf');
    assert.equal(negotiator.negotiate(withHeaders({ accept: other }), either).mediaType, other);
    const refused = refusal(() => negotiator.negotiate(withHeaders({ accept: 'text/html' }), either));
    assert.match(refused.message, /: application\/json, application\/yaml, application\/vnd\.orch\.protobuf$/);
  });

  it('accepts CBOR if the endpoint does and its feature is enabled', () => {
    const enabled = new Negotiator(orch, new Set(['CBORServingAndStorage']));
    const either = { ...everything, schema: status };
    const tableOf = (type: string): string => `${type};as=Table;g=meta.orch.io;v=v1`;
    const [cbor, sequence] = ['application/cbor', 'application/cbor-seq'];
    for (const [accept, answer, watch] of [
      [cbor, 'application/cbor', 'application/cbor-seq'],
      [`${cbor},application/json;q=0.9`, 'application/cbor', 'application/cbor-seq'],
      [`${cbor};q=0.8,application/json;q=0.9`, 'application/json', 'application/json'],
      [`${cbor};stream=watch`, 'application/cbor', 'application/cbor-seq'],
      [sequence, 406, 'application/cbor-seq'],
      [`${sequence},${cbor};q=0.9`, 'application/cbor', 'application/cbor-seq'],
      [tableOf(cbor), 'application/cbor', 'application/cbor-seq'],
      [`${cbor};q=0,*/*`, 'application/json', 'application/json'],
      ['*/*', 'application/json', 'application/json'],
      ['application/*', 'application/json', 'application/json'],
    ] as const) {
      for (const [isWatch, expected] of [
        [false, answer],
        [true, watch],
      ] as const) {
        const found = () => {
          const { format, mediaType } = enabled.negotiate(withHeaders({ accept }), { ...either, watch: isWatch });
          return isWatch ? formatNamed(format).watch?.contentType(mediaType) : mediaType;
        };
        if (expected === 406) assert.equal(refusal(found).code, 406, accept);
        else assert.equal(found(), expected, accept);
      }
      const off = () => negotiator.negotiate(withHeaders({ accept: accept.split(',', 1)[0] ?? '' }), either);
      if (accept.startsWith(cbor)) assert.equal(refusal(off).code, 406, accept);
    }
    assert.equal(refusal(() => enabled.negotiate(withHeaders({ accept: cbor }))).code, 406, 'documents are not in it');
    const listed = (watch: boolean) => {
      const ask = () => enabled.negotiate(withHeaders({ accept: 'text/html' }), { ...either, watch });
      return refusal(ask).message.split(': ')[1];
    };
    const own = 'application/vnd.orch.protobuf';
    assert.equal(listed(false), `application/json, application/yaml, ${own}, ${cbor}`);
    assert.equal(listed(true), `application/json;stream=watch, ${own};stream=watch, ${cbor};stream=watch, ${sequence}`);
  });

  it('lists the accepted media types', () => {
    const refused = refusal(() => negotiator.negotiate(withHeaders({ accept: 'text/html' })));
    assert.equal(refused.message, 'only the following media types are accepted: application/json, application/yaml');
  });

  it('may be any text', () => {
    for (const accept of [
      '"',
      ';',
      ',',
      '"\\',
      'a/b;"',
      'a/b;q="1',
      `${','.repeat(60_000)}`,
      'é/ü',
      'a/b;__proto__=1',
    ]) {
      assert.equal(chosen(accept), '406 NotAcceptable');
    }
    for (let i = 0; i < 5_000; i += 1) assert.equal(chosen(`application/json;x=${i}`), 'json');
  });

  it('keeps commas and semicolons in quotes together', () => {
    const [first, second, ...rest] = parseAccept('a/b;x="1,2;3\\"",c/d');
    assert.deepEqual([first?.type, first?.parameters.get('x'), second?.subtype, rest], ['a', '1,2;3"', 'd', []]);
  });
});

describe('pretty', () => {
  const negotiator = new Negotiator(orch, new Set());
  const rows: readonly (readonly [headers: Record<string, string>, parameter: string | null, pretty: boolean])[] = [
    [{}, null, false],
    [{}, '', false],
    [{}, 'true', true],
    [{}, '1', true],
    [{}, 'false', false],
    [{}, 'nonsense', false],
    [{ 'user-agent': 'curl/8.0' }, null, true],
    [{ 'user-agent': 'curl/8.0' }, 'false', false],
    [{ 'user-agent': 'curl/8.0' }, '0', false],
    [{ 'user-agent': 'Wget/1' }, null, true],
    [{ 'user-agent': 'Mozilla/5.0 (X11)' }, '', true],
    [{ 'user-agent': 'Mozilla/4.0' }, null, false],
    [{ accept: 'application/json; pretty=1' }, null, true],
  ];
  for (const [headers, parameter, pretty] of rows) {
    it(`is ${pretty} for ${JSON.stringify(headers)} and parameter ${JSON.stringify(parameter)}`, () => {
      assert.equal(negotiator.negotiate(withHeaders(headers), { pretty: parameter }).pretty, pretty);
    });
  }
});

describe('Content-Type', () => {
  const negotiator = new Negotiator(orch, new Set());
  const rows: readonly (readonly [header: string | undefined, format: string])[] = [
    [undefined, 'json'],
    ['', 'json'],
    ['application/json', 'json'],
    ['Application/JSON; charset=utf-8', 'json'],
    ['application/json;', 'json'],
    ['application/json; charset="utf-8"; a="x;y=\\"z"', 'json'],
    ['application/yaml', 'yaml'],
  ];
  for (const [header, format] of rows) {
    it(`${JSON.stringify(header)} is ${format}`, () => assert.equal(negotiator.contentType(header), format));
  }
  for (const header of ['application/vnd.orch.protobuf', 'Application/vnd.Kubernetes.protobuf; a=b']) {
    it(`${JSON.stringify(header)} is protobuf where that is read`, () => {
      assert.equal(negotiator.contentType(header, { schema: status }), 'protobuf');
      const refused = refusal(() => negotiator.contentType('text/plain', { schema: status }));
      assert.match(refused.message, /application\/yaml, application\/vnd\.orch\.protobuf$/);
    });
  }
  it('is CBOR where its feature is enabled, but no sequence', () => {
    const enabled = new Negotiator(orch, new Set(['CBORServingAndStorage']));
    assert.equal(enabled.contentType('Application/CBOR', { schema: status }), 'cbor');
    assert.deepEqual(enabled.patchType('application/apply-patch+cbor'), { patch: 'apply', format: 'cbor' });
    for (const refused of [
      () => enabled.contentType('application/cbor-seq', { schema: status }),
      () => enabled.contentType('application/cbor'),
      () => enabled.patchType('application/strategic-merge-patch+cbor'),
    ]) {
      assert.match(refusal(refused).message, /accepted media types include: /);
    }
    assert.match(refusal(() => enabled.patchType('')).message, /apply-patch\+yaml, application\/apply-patch\+cbor$/);
    for (const unknown of [
      () => negotiator.contentType('application/cbor', { schema: status }),
      () => negotiator.patchType('application/apply-patch+cbor'),
    ]) {
      assert.equal(refusal(unknown).code, 415);
      assert.doesNotMatch(refusal(unknown).message, /cbor/);
    }
  });

  for (const header of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'json',
    'application/vnd.orch.protobuf',
    '*/*',
    'application/*',
    'application/json; charset',
    'application/json; charset=',
    'application/json; =utf-8',
    'application/json; charset=utf 8',
    'application/json; charset="utf-8',
    'application/json;; charset=utf-8',
    'application/json; charset=utf-8; Charset=utf-8',
    'application/json, application/json',
  ]) {
    it(`${JSON.stringify(header)} is not read`, () => {
      const refused = refusal(() => negotiator.contentType(header));
      assert.equal(refused.code, 415);
      assert.equal(
        refused.message,
        'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml',
      );
    });
  }
});
