import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { limits } from '../base/limits.ts';
import { ManualClock } from '../base/time/clock.ts';
import { decodeMessage } from '../codec/protobuf/decode.ts';
import { openEnvelope } from '../codec/protobuf/envelope.ts';
import { decodeOpenapi } from '../codec/protobuf/openapi/decode-fixture.ts';
import { kubernetes } from '../dialect/kubernetes.ts';
import { orch } from '../dialect/orch.ts';
import { kinds } from '../kinds/kinds.ts';
import { discoveryDocuments } from '../kinds/meta/discovery-documents.ts';
import { aggregatedVersions } from '../registry/documents/discovery.ts';
import { type ApiDocument, ApiDocuments, type OpenapiName } from '../registry/documents/documents.ts';
import { withoutObjects } from '../registry/registry-fixture.ts';
import { isRecord } from '../schema/own-property.ts';
import { DocumentForms, entityTag, writeDocument } from './document-forms.ts';

const documentOf = (value: unknown): ApiDocument => {
  const json = Buffer.from(JSON.stringify(value));
  return { json, hash: createHash('sha512').update(json).digest('hex').toUpperCase() };
};

/**
 * The part of a document that its protobuf messages can represent: zero scalars equal absent ones, except in defaults
 * and extensions, and a default that is an object is reduced to its presence.
 */
function sayable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sayable);
  if (!isRecord(value)) return value;
  const said = Object.entries(value).flatMap(([name, field]): [string, unknown][] => {
    if (name.startsWith('x-')) return [[name, field]];
    // Names of fields are no keywords: a schema of schemas has fields that are called as these.
    if (name === 'properties' && isRecord(field)) {
      const fields = Object.entries(field).map(([each, schema]) => [each, sayable(schema)] as const);
      return [[name, Object.fromEntries(fields)]];
    }
    if (name === 'default') return [[name, isRecord(field) || Array.isArray(field) ? {} : field]];
    return field === false || field === 0 || field === '' ? [] : [[name, sayable(field)]];
  });
  return Object.fromEntries(said);
}

/** Without what is null, empty, false or zero, which protobuf cannot tell from what is absent. */
function meaning(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(meaning);
  if (!isRecord(value)) return value;
  const fields = Object.entries(value).map(([name, field]) => [name, meaning(field)] as const);
  return Object.fromEntries(fields.filter(([, field]) => !isNothing(field)));
}

const isNothing = (value: unknown): boolean =>
  value === null ||
  value === '' ||
  value === false ||
  value === 0 ||
  (typeof value === 'object' && Object.keys(value).length === 0);

for (const dialect of [orch, kubernetes]) {
  const documents = new ApiDocuments({ dialect, cbor: false, issuer: true }, withoutObjects(kinds(dialect)), () => '');
  const { paths } = JSON.parse(documents.openapiIndex().json.toString()) as {
    paths: Readonly<Record<string, unknown>>;
  };
  const named = Object.keys(paths).map((path): Exclude<OpenapiName, { readonly type: 'v2' | 'index' }> => {
    const [, group = '', version] = /^(?:api|apis\/([^/]+))\/(v\d[^/]*)$/.exec(path) ?? [];
    return version === undefined ? { type: 'server', path } : { type: 'v3', group, version };
  });
  const groupVersions = named.flatMap((each) => (each.type === 'v3' ? [[each.group, each.version] as const] : []));

  describe(`discovery in protobuf says all that the JSON says (${dialect.name})`, () => {
    const groups = [...new Set(groupVersions.map(([group]) => group))];
    for (const [name, document] of [
      ['/api', documents.coreVersions()],
      ['/apis', documents.groupList()],
      ...groups.flatMap((group) => (group === '' ? [] : [[`/apis/${group}`, documents.group(group)] as const])),
      ...groupVersions.map(
        ([group, version]) => [`${group}/${version}`, documents.resourceList(group, version)] as const,
      ),
      ...(['api', 'apis'] as const).flatMap((root) =>
        aggregatedVersions.map((version) => [`${root} ${version}`, documents.aggregated(root, version)] as const),
      ),
    ] as const) {
      test(name, () => {
        assert.ok(document);
        const said = JSON.parse(document.json.toString());
        const { raw, ...type } = openEnvelope(writeDocument(document, 'protobuf'));
        assert.deepEqual(type, { apiVersion: said.apiVersion ?? '', kind: said.kind });
        const schema = discoveryDocuments.get(said.kind);
        assert.ok(schema);
        const { apiVersion: _, kind: __, ...fields } = said;
        assert.deepEqual(meaning(decodeMessage(schema, raw)), meaning(fields));
      });
    }
  });

  describe(`OpenAPI in protobuf says all that the JSON says (${dialect.name})`, () => {
    for (const of of [{ type: 'v2' } as const, ...named]) {
      const [name, leastBytes] = of.type === 'server' ? [of.path, 300] : [JSON.stringify(of), 8_000];
      test(name, async () => {
        const document = await documents.openapiInSlices(of, new ManualClock());
        assert.ok(document?.message && document.message !== 'discovery');
        const bytes = new DocumentForms().bytes(document, 'protobuf');
        const decoded = decodeOpenapi(bytes, document.message === 'openapi v2' ? 2 : 3);
        assert.deepEqual(decoded, sayable(JSON.parse(document.json.toString())));
        assert.ok(bytes.length > leastBytes, String(bytes.length));
      });
    }
  });
}

describe('forms of a document', () => {
  const document = documentOf({ kind: 'Sample', list: [1, 'b'] });

  test('are equivalent', () => {
    const forms = new DocumentForms();
    const value = JSON.parse(document.json.toString());
    assert.equal(forms.bytes(document, 'json'), document.json);
    assert.deepEqual(JSON.parse(forms.bytes(document, 'pretty').toString()), value);
    assert.ok(forms.bytes(document, 'pretty').includes('\n  '));
    assert.deepEqual(parse(forms.bytes(document, 'yaml').toString()), value);
    assert.throws(() => forms.bytes(document, 'protobuf'), /has no protobuf form/);
  });

  test('are encoded once', () => {
    const forms = new DocumentForms();
    assert.equal(forms.bytes(document, 'yaml'), forms.bytes(document, 'yaml'));
    assert.notEqual(writeDocument(document, 'yaml'), writeDocument(document, 'yaml'));
  });

  test('are made elsewhere once for all who ask meanwhile; what fails is made anew', async () => {
    const forms = new DocumentForms();
    let made = 0;
    const make = async () => {
      made += 1;
      if (made === 1) throw new Error('no');
      return writeDocument(document, 'yaml');
    };
    const ask = () => Promise.resolve(forms.bytesMade(document, 'yaml', make));
    const failed = await Promise.allSettled([ask(), ask()]);
    assert.deepEqual([failed.map(({ status }) => status), made], [['rejected', 'rejected'], 1]);
    const [one, other] = await Promise.all([ask(), ask()]);
    assert.equal(one, other);
    assert.equal(forms.bytesMade(document, 'yaml', make), one);
    assert.equal(forms.bytesMade(document, 'json', make), document.json);
    assert.equal(forms.bytes(document, 'yaml'), one);
    assert.equal(made, 2);
  });

  test('stay within the memory limit, with LRU eviction', () => {
    const forms = new DocumentForms();
    const size = limits.documentFormBytesMax / 4;
    const large = Array.from({ length: 6 }, (_, at) => documentOf({ at, text: 'x'.repeat(size) }));
    const [first, second, ...rest] = large as [ApiDocument, ApiDocument, ...ApiDocument[]];
    const pretty = forms.bytes(first, 'pretty');
    const others = forms.bytes(second, 'pretty');
    for (const each of rest) {
      forms.bytes(each, 'pretty');
      assert.equal(forms.bytes(first, 'pretty'), pretty, 'it is in use');
    }
    assert.notEqual(forms.bytes(second, 'pretty'), others);
    const huge = documentOf({ text: 'x'.repeat(limits.documentFormBytesMax) });
    assert.notEqual(forms.bytes(huge, 'pretty'), forms.bytes(huge, 'pretty'));
    assert.equal(forms.bytes(first, 'pretty'), pretty, 'what is too large puts nothing else out');
  });

  test('have distinct entity tags; that of the JSON is its hash', () => {
    const tags = (['json', 'pretty', 'yaml', 'protobuf'] as const).flatMap((form) =>
      [false, true].map((gzip) => entityTag(document, form, { gzip })),
    );
    assert.equal(tags[0], `"${document.hash}"`);
    assert.equal(new Set(tags).size, 8);
    for (const tag of tags) assert.match(tag, /^"[0-9A-Za-z-]+"$/);
    assert.notEqual(entityTag(documentOf(1), 'yaml', { gzip: false }), entityTag(document, 'yaml', { gzip: false }));
  });
});
