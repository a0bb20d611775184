import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { once } from '../../src/base/waits-fixture.ts';
import { parseCbor } from '../../src/codec/cbor/decode.ts';
import { encodeCbor, encodeElement } from '../../src/codec/cbor/encode.ts';
import { type Answer, OrchProcess } from '../support/orch-process.ts';

/** CBOR behind its gate (spec section 4.3, KEP-4222): what a client sees, and what is left of it with the gate off. */

const path = '/api/v1/namespaces/default/configmaps';
const cbor = 'application/cbor';
const asCbor = { accept: cbor, 'content-type': cbor };
const gate = '--feature-gates=CBORServingAndStorage';

interface Opened {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: Record<string, unknown>;
  readonly [field: string]: unknown;
}

const selfDescribed = 'd9d9f7';

/** The value of an item in the self-described tag that is encoded deterministically. */
function open(bytes: Buffer): Opened {
  assert.equal(bytes.subarray(0, 3).toString('hex'), selfDescribed);
  const { value } = parseCbor(bytes);
  return value as Opened;
}

/** The same of an object without bytes, for which there is one encoding only. */
function openExactly(bytes: Buffer): Opened {
  const value = open(bytes);
  assert.deepEqual(encodeCbor(value), bytes);
  return value;
}

const typed = (name: string, fields: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...fields,
});

/** Without what differs between two answers: ages, and the version of a list with the token that has it. */
function unchanging(value: object): unknown {
  const { metadata = {}, items, rows, ...rest } = value as Partial<Opened>;
  const text = JSON.stringify({ ...rest, items, rows }).replaceAll(/"\d+m?\d*s"/g, '"age"');
  return { ...JSON.parse(text), metadata: items || rows ? Object.keys(metadata).sort() : metadata };
}

const refusal = (answer: Answer): readonly [code: number, reason: unknown, message: string] => {
  assert.equal(answer.headers['content-type'], cbor, answer.text);
  const { kind, reason, message } = openExactly(answer.bytes);
  assert.equal(kind, 'Status');
  return [answer.status, reason, String(message)];
};

interface SequenceEvent {
  readonly type: string;
  readonly object: Opened;
}

/** The items of a watch until `count` have come whole. */
async function watchEvents(server: OrchProcess, query: string, count: number, accept = cbor): Promise<SequenceEvent[]> {
  const options = { host: '127.0.0.1', port: server.port, agent: false as const, ...server.credentials };
  const request = https.get({ ...options, path: `${path}?watch=1&${query}`, headers: { accept } });
  try {
    const [response] = await once(request, 'response');
    assert.equal(response.headers['content-type'], 'application/cbor-seq');
    let received = Buffer.alloc(0);
    for await (const chunk of response) {
      received = Buffer.concat([received, chunk]);
      // Every item starts with the tag and a map whose first key is `type`.
      const starts = [...received.toString('latin1').matchAll(/\xd9\xd9\xf7\xa2\x44type/g)].map(({ index }) => index);
      if (starts.length < count) continue;
      const events = starts.map((start, at) => parseWhole(received.subarray(start, starts[at + 1])));
      if (events.every((event) => event !== undefined)) return events;
    }
    throw new Error('the watch ended');
  } finally {
    request.destroy();
  }
}

function parseWhole(bytes: Buffer): SequenceEvent | undefined {
  try {
    return parseCbor(bytes).value as SequenceEvent;
  } catch {
    return undefined;
  }
}

describe('with the gate on', () => {
  let server: OrchProcess;
  before(async () => {
    server = await OrchProcess.start({ flags: [`${gate}=true`] });
  });
  after(() => server[Symbol.asyncDispose]());

  test('an object is created, read, replaced and deleted', async () => {
    const binaryData = { k: Buffer.from([0, 255]).toString('base64') };
    const created = await server.post(path, encodeCbor(typed('one', { data: { a: 'b' }, binaryData })), {
      headers: asCbor,
    });
    assert.equal(created.status, 201, created.text);
    assert.equal(created.headers['content-type'], cbor);
    const stored = open(created.bytes);
    assert.deepEqual([stored.kind, stored['data'], stored['binaryData']], ['ConfigMap', { a: 'b' }, binaryData]);
    assert.ok(created.bytes.includes(Buffer.from('d64200ff', 'hex')), 'bytes are a byte string in tag 22');
    const read = await server.get(`${path}/one`, { headers: { accept: cbor } });
    assert.deepEqual(read.bytes, created.bytes);
    const { json } = await server.get(`${path}/one`);
    assert.deepEqual(json, stored);

    const changed = encodeCbor({ ...stored, data: { a: 'c' } });
    const replaced = await server.put(`${path}/one`, changed, { headers: { 'content-type': cbor } });
    assert.deepEqual([replaced.status, replaced.json['data']], [200, { a: 'c' }]);
    const body = encodeCbor({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'not this one' } });
    const kept = await server.request('DELETE', `${path}/one`, { body, headers: asCbor });
    assert.deepEqual(refusal(kept).slice(0, 2), [409, 'Conflict']);
    const gone = await server.delete(`${path}/one`, { headers: { accept: cbor } });
    assert.equal(openExactly(gone.bytes)['status'], 'Success');
  });

  test('text strings, indefinite lengths and a body without the tag are read', async () => {
    const text = (value: string): string => `7f${chunk(value.slice(0, 2))}${chunk(value.slice(2))}ff`;
    const chunk = (value: string): string => (0x60 + value.length).toString(16) + Buffer.from(value).toString('hex');
    const fields = { kind: 'ConfigMap', apiVersion: 'v1' };
    const typeMeta = Object.entries(fields).map((field) => field.map(text).join(''));
    const item = `bf${typeMeta.join('')}${text('metadata')}a1${text('name')}${text('text')}ff`;
    const body = Buffer.from(item, 'hex');
    const created = await server.post(path, body, { headers: { 'content-type': cbor } });
    assert.deepEqual([created.status, (created.json['metadata'] as Opened)['name']], [201, 'text'], created.text);
  });

  test('lists of all representations say what they say in JSON', async () => {
    for (const name of ['l1', 'l2', 'l3']) {
      await server.post(path, typed(name, { metadata: { name, labels: { list: 'this' } }, data: { name } }));
    }
    const suffix = ['', ';as=Table;g=meta.orch.io;v=v1', ';as=PartialObjectMetadataList;g=meta.orch.io;v=v1'];
    for (const query of [
      'labelSelector=list%3Dthis',
      'labelSelector=list%3Dthis&limit=2',
      'labelSelector=list%3Dnone',
      '',
    ]) {
      for (const as of suffix) {
        const [binary, text] = await Promise.all([
          server.get(`${path}?${query}`, { headers: { accept: `${cbor}${as}` } }),
          server.get(`${path}?${query}`, { headers: { accept: `application/json${as}` } }),
        ]);
        assert.equal(binary.headers['content-type'], cbor);
        assert.deepEqual(unchanging(openExactly(binary.bytes)), unchanging(text.json), `${query} ${as}`);
      }
    }
  });

  test('pages of a list say what they say in JSON', async () => {
    const roles = '/apis/rbac.authorization.orch.io/v1/clusterroles';
    const whole = await server.get(roles);
    for (const as of ['', ';as=Table;g=meta.orch.io;v=v1', ';as=PartialObjectMetadataList;g=meta.orch.io;v=v1']) {
      let rest = '';
      let count = 0;
      do {
        const query = `${roles}?limit=7${rest}`;
        const binary = await server.get(query, { headers: { accept: `${cbor}${as}` } });
        const text = await server.get(query, { headers: { accept: `application/json${as}` } });
        const page = openExactly(binary.bytes);
        assert.deepEqual(unchanging(page), unchanging(text.json), `${query} ${as}`);
        count += ((page['items'] ?? page['rows']) as unknown[]).length;
        const { continue: next } = page.metadata;
        rest = next === undefined ? '' : `&continue=${next}`;
      } while (rest !== '');
      assert.equal(count, (whole.json['items'] as unknown[]).length, as);
    }
  });

  test('one object as a table and as metadata; bytes in the objects of a table', async () => {
    const secrets = '/api/v1/namespaces/default/secrets';
    const data = { k: Buffer.from([1, 254]).toString('base64') };
    await server.post(secrets, { metadata: { name: 'bytes', labels: { bytes: 'yes' } }, data });
    for (const target of [`${secrets}/bytes`, `${secrets}?labelSelector=bytes`]) {
      for (const as of ['', ';as=Table;g=meta.orch.io;v=v1']) {
        for (const include of ['None', 'Metadata', 'Object']) {
          const url = `${target}${target.includes('?') ? '&' : '?'}includeObject=${include}`;
          const binary = await server.get(url, { headers: { accept: `${cbor}${as}` } });
          const text = await server.get(url, { headers: { accept: `application/json${as}` } });
          assert.deepEqual(unchanging(open(binary.bytes)), unchanging(text.json), `${url} ${as}`);
          const tagged = binary.bytes.includes(Buffer.from('d64201fe', 'hex'));
          assert.equal(tagged, as === '' || include === 'Object', `${url} ${as}`);
        }
      }
    }
  });

  test('a watch is a sequence: initial events, bookmark, changes', async () => {
    await server.post(path, typed('w1', { metadata: { name: 'w1', labels: { watch: 'this' } } }));
    const start = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
    const events = await watchEvents(server, `labelSelector=watch%3Dthis&${start}`, 2);
    assert.deepEqual(
      events.map(({ type, object }) => [type, object.kind, object.metadata['name']]),
      [
        ['ADDED', 'ConfigMap', 'w1'],
        ['BOOKMARK', 'ConfigMap', undefined],
      ],
    );
    const [, bookmark] = events;
    const annotations = bookmark?.object.metadata['annotations'] as Readonly<Record<string, string>>;
    assert.equal(annotations['orch.io/initial-events-end'], 'true');
    const list = { kind: 'ConfigMapList', apiVersion: 'v1', metadata: {}, items: [] };
    assert.deepEqual(open(Buffer.from(annotations['orch.io/initial-events-list-blueprint'] ?? '', 'base64')), list);
    const w2 = typed('w2', { metadata: { name: 'w2', labels: { watch: 'this' } } });
    const { json } = await server.post(path, w2);
    await server.delete(`${path}/w2`);
    const since = `labelSelector=watch%3Dthis&resourceVersion=${bookmark?.object.metadata['resourceVersion']}`;
    for (const accept of [cbor, `${cbor};stream=watch`, 'application/cbor-seq', `${cbor},application/json;q=0.9`]) {
      const later = await watchEvents(server, since, 2, accept);
      assert.deepEqual(
        later.map(({ type, object }) => [type, object.metadata['name']]),
        [
          ['ADDED', 'w2'],
          ['DELETED', 'w2'],
        ],
      );
      assert.deepEqual(later[0]?.object, json);
    }
    const tables = await watchEvents(server, since, 2, `${cbor};as=Table;g=meta.orch.io;v=v1`);
    assert.deepEqual(
      tables.map(({ object }) => [object.kind, object['columnDefinitions'] === null]),
      [
        ['Table', false],
        ['Table', true],
      ],
    );
    const [error] = await watchEvents(server, 'resourceVersion=1', 1);
    assert.deepEqual(
      [error?.type, error?.object.kind, error?.object['code'], error?.object['reason']],
      ['ERROR', 'Status', 410, 'Expired'],
    );
    const expired = await server.get(`${path}?watch=1&resourceVersion=x`, { headers: { accept: cbor } });
    assert.equal(refusal(expired)[0], 400);
  });

  test('a list is compressed where the client accepts it', async () => {
    const roles = '/apis/rbac.authorization.orch.io/v1/clusterroles';
    const { resourceVersion } = (await server.get(roles)).json['metadata'] as { readonly resourceVersion: string };
    // Whatever is written between the two.
    const exact = `${roles}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`;
    const [plain, compressed] = await Promise.all(
      ['identity', 'gzip'].map((encoding) =>
        server.get(exact, { headers: { accept: cbor, 'accept-encoding': encoding } }),
      ),
    );
    assert.deepEqual(
      [plain?.headers['content-encoding'], compressed?.headers['content-encoding']],
      [undefined, 'gzip'],
    );
    assert.ok(plain && compressed);
    assert.deepEqual(gunzipSync(compressed.bytes), plain.bytes);
  });

  test('bytes in each of their tags, and as base64', async () => {
    const secrets = '/api/v1/namespaces/default/secrets';
    for (const [at, item] of ['d642fbff', 'd542fbff', 'd742fbff', '442b2f383d'].entries()) {
      const head = encodeElement({ kind: 'Secret', metadata: { name: `tag-${at}` } }).toString('hex');
      const body = Buffer.from(`a3${head.slice(2)}4464617461a1416b${item}`, 'hex');
      const { status, json, text } = await server.post(secrets, body, { headers: { 'content-type': cbor } });
      assert.deepEqual([status, json['data']], [201, { k: '+/8=' }], text);
    }
  });

  test('a body that is answered and not stored has few elements', async () => {
    const groups = Array.from({ length: 4_100 }, () => 'g');
    const review = { spec: { user: 'u', groups, nonResourceAttributes: { path: '/', verb: 'get' } } };
    const reviews = '/apis/authorization.orch.io/v1/subjectaccessreviews';
    const refused = await server.post(reviews, encodeCbor(review), { headers: asCbor });
    assert.match(refusal(refused)[2], /expected no more than 4000 elements/);
    const few = { spec: { ...review.spec, groups: groups.slice(200) } };
    assert.equal((await server.post(reviews, encodeCbor(few), { headers: asCbor })).status, 201);
  });

  test('a configuration is applied', async () => {
    const apply = (body: unknown, query = '') =>
      server.request('PATCH', `${path}/applied?fieldManager=cbor${query}`, {
        body: encodeCbor(body),
        headers: { accept: cbor, 'content-type': 'application/apply-patch+cbor' },
      });
    const created = await apply(typed('applied', { data: { a: '1', b: '2' } }));
    assert.equal(created.status, 201, created.text);
    const owners = open(created.bytes).metadata['managedFields'] as readonly Record<string, unknown>[];
    assert.deepEqual(
      owners.map(({ manager, operation, fieldsV1 }) => [manager, operation, fieldsV1]),
      [['cbor', 'Apply', { 'f:data': { 'f:a': {}, 'f:b': {} } }]],
    );
    const changed = await apply(typed('applied', { data: { b: '3' } }));
    assert.deepEqual([changed.status, open(changed.bytes)['data']], [200, { b: '3' }]);
    const strict = await apply(typed('applied', { odd: 1 }), '&fieldValidation=Strict');
    assert.deepEqual([strict.status, refusal(strict)[1]], [400, 'BadRequest']);
    for (const type of ['json-patch', 'merge-patch', 'strategic-merge-patch']) {
      const headers = { accept: cbor, 'content-type': `application/${type}+cbor` };
      const other = await server.request('PATCH', `${path}/applied`, { body: encodeCbor({}), headers });
      assert.deepEqual(refusal(other).slice(0, 2), [415, 'UnsupportedMediaType']);
      assert.match(refusal(other)[2], /application\/apply-patch\+cbor/);
    }
  });

  test('unknown fields are treated as in JSON', async () => {
    const send = (name: string, mode: string) =>
      server.post(`${path}?fieldValidation=${mode}`, encodeCbor(typed(name, { extra: 'x' })), { headers: asCbor });
    assert.deepEqual(refusal(await send('strict', 'Strict')), [
      400,
      'BadRequest',
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "extra"',
    ]);
    const warned = await send('warned', 'Warn');
    assert.deepEqual([warned.status, warned.headers['warning']], [201, '299 - "unknown field \\"extra\\""']);
    assert.equal((await send('ignored', 'Ignore')).status, 201);
  });

  test('integers beyond 2^53 stay exact', async () => {
    const pods = '/api/v1/namespaces/default/pods';
    const tolerationSeconds = 2n ** 63n - 1n;
    const spec = {
      automountServiceAccountToken: false,
      containers: [{ name: 'c', image: 'i' }],
      tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds }],
    };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'exact' }, spec };
    const created = await server.post(pods, encodeCbor(pod), { headers: asCbor });
    assert.equal(created.status, 201, created.text);
    const { tolerations } = open(created.bytes)['spec'] as typeof spec;
    assert.equal(tolerations.find(({ key }) => key === 'k')?.tolerationSeconds, tolerationSeconds);
    assert.match((await server.get(`${pods}/exact`)).text, /"tolerationSeconds":9223372036854775807/);
  });

  const valid = encodeCbor(typed('bad'));
  const hex = (text: string): Buffer => Buffer.from(text, 'hex');
  const rows: readonly (readonly [why: string, body: Buffer, message: RegExp])[] = [
    ['JSON', Buffer.from('{"kind":"ConfigMap"}'), /error decoding CBOR: byte \d+: /],
    ['a cut off body', valid.subarray(0, -4), /error decoding CBOR: byte \d+: the data item is cut off/],
    ['two items', Buffer.concat([valid, valid]), /expected the end of input/],
    ['no object', hex(`${selfDescribed}80`), /error decoding|object/],
    ['a key twice', hex('a2444b696e6401444b696e6402'), /the map has the key "Kind" twice/],
    ['undefined', hex('a14161f7'), /expected false, true, null or a float/],
    ['a bignum', hex('a14161c24101'), /an item in tag 2 is not supported/],
    ['tag 22 without bytes', hex('a14161d66161'), /expected a byte string in tags 21 to 23/],
    ['a text that is no UTF-8', hex('a141616180'), /byte 4: expected valid UTF-8/],
    ['a number that is not finite', hex('a14161f97c00'), /expected a float that is finite/],
    ['too deep', hex('81'.repeat(65)), /expected no more than 64 levels of nesting/],
    ['a length like memory', hex('9b7fffffffffffffff'), /cut off/],
    ['another kind', encodeCbor({ ...typed('bad'), kind: 'Secret' }), /the kind in the data \("Secret"\)/],
    ['a value of another type', encodeCbor(typed('bad', { data: { a: 1 } })), /data\.a/],
    ['no name', encodeCbor(typed('')), /name or generateName is required/],
  ];
  for (const [why, body, message] of rows) {
    test(`refused, with a Status in CBOR: ${why}`, async () => {
      const [code, , text] = refusal(await server.post(path, body, { headers: asCbor }));
      assert.ok(code === 400 || code === 422, String(code));
      assert.match(text, message);
    });
  }

  test('large bodies and objects go through the thread for heavy work', async () => {
    const data = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`key-${at}`, 'x'.repeat(100)]));
    const created = await server.post(path, encodeCbor(typed('large', { data })), { headers: asCbor });
    assert.equal(created.status, 201, created.text);
    assert.deepEqual(openExactly(created.bytes)['data'], data);
    const listed = await server.get(`${path}?fieldSelector=metadata.name%3Dlarge`, { headers: { accept: cbor } });
    assert.deepEqual((openExactly(listed.bytes)['items'] as Opened[])[0], open(created.bytes));
    const query = `${path}?fieldSelector=metadata.name%3Dlarge&includeObject=Object`;
    for (const as of [';as=Table;g=meta.orch.io;v=v1', ';as=PartialObjectMetadataList;g=meta.orch.io;v=v1']) {
      const binary = await server.get(query, { headers: { accept: `${cbor}${as}` } });
      const text = await server.get(query, { headers: { accept: `application/json${as}` } });
      assert.deepEqual(unchanging(openExactly(binary.bytes)), unchanging(text.json), as);
    }
    const cut = await server.post(path, encodeCbor(typed('cut', { data })).subarray(0, -1), { headers: asCbor });
    assert.match(refusal(cut)[2], /cut off/);
    const [, event] = await watchEvents(
      server,
      'fieldSelector=metadata.name%3Dlarge&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
      2,
    );
    assert.equal(event?.type, 'BOOKMARK');
  });

  test('documents are not in CBOR, and a sequence is neither a body nor an answer', async () => {
    for (const target of ['/api', '/apis', '/api/v1', '/openapi/v2']) {
      assert.equal((await server.get(target, { headers: { accept: cbor } })).status, 406, target);
    }
    const sequence = 'application/cbor-seq';
    assert.equal((await server.get(path, { headers: { accept: sequence } })).status, 406);
    assert.equal((await server.post(path, valid, { headers: { 'content-type': sequence } })).status, 415);
  });
});

test('with the gate off, CBOR is unknown', async () => {
  await using server = await OrchProcess.start();
  const headers = { 'content-type': cbor };
  const sent = await server.post(path, encodeCbor(typed('one')), { headers });
  assert.deepEqual([sent.status, sent.json['reason']], [415, 'UnsupportedMediaType']);
  assert.doesNotMatch(sent.text, /cbor/);
  for (const query of ['', '?watch=1']) {
    for (const accept of [cbor, 'application/cbor-seq']) {
      const asked = await server.get(`${path}${query}`, { headers: { accept } });
      assert.deepEqual([asked.status, asked.json['reason']], [406, 'NotAcceptable']);
      assert.doesNotMatch(asked.text, /cbor/);
    }
  }
  const fallback = await server.get(path, { headers: { accept: `${cbor},application/json;q=0.9` } });
  assert.equal(fallback.headers['content-type'], 'application/json');
  const body = encodeCbor(typed('one'));
  const options = { body, headers: { 'content-type': 'application/apply-patch+cbor' } };
  const applied = await server.request('PATCH', `${path}/one?fieldManager=m`, options);
  assert.equal(applied.status, 415);
  assert.doesNotMatch(applied.text, /cbor/);
});

test('what is stored with the gate on is read with it off, and the other way', async (context) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'cbor-'));
  context.after(() => rmSync(dataDir, { recursive: true }));
  const start = (on: boolean) => OrchProcess.start({ dataDir, flags: [`${gate}=${on}`] });
  const fields = { data: { a: 'b' }, binaryData: { k: Buffer.from([0, 255]).toString('base64') } };
  const objects = new Map<string, unknown>();
  const keep = (answer: Answer, value: unknown): void => {
    assert.ok(answer.status < 300, answer.text);
    objects.set(String((value as Opened).metadata['name']), value);
  };
  {
    await using server = await start(true);
    const created = await server.post(path, encodeCbor(typed('on', fields)), { headers: asCbor });
    keep(created, open(created.bytes));
    const headers = { accept: cbor, 'content-type': 'application/apply-patch+cbor' };
    const body = encodeCbor(typed('applied', fields));
    const applied = await server.request('PATCH', `${path}/applied?fieldManager=m`, { body, headers });
    keep(applied, open(applied.bytes));
    assert.equal(await server.stop(), 0);
  }
  {
    await using server = await start(false);
    for (const [name, value] of objects) assert.deepEqual((await server.get(`${path}/${name}`)).json, value);
    const changed = await server.put(`${path}/on`, { ...(objects.get('on') as Opened), data: { a: 'c' } });
    keep(changed, changed.json);
    const created = await server.post(path, typed('off', fields));
    keep(created, created.json);
    assert.equal(await server.stop(), 0);
  }
  await using server = await start(true);
  for (const [name, value] of objects) {
    assert.deepEqual(open((await server.get(`${path}/${name}`, { headers: { accept: cbor } })).bytes), value);
  }
  assert.deepEqual([...objects.keys()], ['on', 'applied', 'off']);
});
