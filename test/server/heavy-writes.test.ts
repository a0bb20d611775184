import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { makeCertificate } from '../../src/pki/certificate-fixture.ts';
import { makeRequest, requestToPem } from '../../src/pki/certificate-request-fixture.ts';
import { type Answer, OrchProcess } from '../support/orch-process.ts';

/**
 * Heavy requests are done on a thread of their own: others get their answers meanwhile. What is asserted is the order of the
 * answers, not how long they took.
 */
let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start();
  // The thread is started by the first heavy request, and kept.
  await server.post(maps, 'metadata: {name: first}\n', { headers: { 'content-type': 'application/yaml' } });
  const made = await server.post(maps, object('wide', 'x'));
  assert.equal(made.status, 201, made.text);
  assert.equal((await server.post(requests, signing)).status, 201);
});
after(() => server[Symbol.asyncDispose]());

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const requests = '/apis/certificates.orch.io/v1/certificatesigningrequests';
const signing = {
  metadata: { name: 'chain' },
  spec: { request: base64(requestToPem(makeRequest())), signerName: 'example.com/one', usages: ['any'] },
};
const chain = base64(makeCertificate({}).cert.repeat(4_000));

const maps = '/api/v1/namespaces/default/configmaps';
const wide = `${maps}/wide`;
const data = (value: string) => Object.fromEntries(Array.from({ length: 30_000 }, (_, n) => [`k${n}`, value]));
const object = (name: string, value: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: data(value),
});
const patch = (type: string) => ({ 'content-type': `application/${type}` });
const yaml = { 'content-type': 'application/yaml' };
const operations = Array.from({ length: 10_000 }, (_, n) => ({ op: 'replace', path: `/data/k${n}`, value: 'j' }));
const unknown = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`x${n}`, 1]));
const lines = (count: number): string => `metadata: {name: block}\ndata:\n  a: |\n    x\n${'\n'.repeat(count)}    y\n`;

describe('others are answered while a heavy request is', () => {
  for (const [what, method, path, body, headers, status] of [
    ['a create', 'POST', maps, object('made', 'x'), {}, 201],
    ['a dry run of one', 'POST', `${maps}?dryRun=All`, object('dry', 'x'), {}, 201],
    ['an update', 'PUT', wide, object('wide', 'u'), {}, 200],
    ['a merge patch', 'PATCH', wide, { data: data('m') }, patch('merge-patch+json'), 200],
    ['a strategic patch', 'PATCH', wide, { data: data('s') }, patch('strategic-merge-patch+json'), 200],
    ['a JSON patch', 'PATCH', wide, operations, patch('json-patch+json'), 200],
    ['an apply', 'PATCH', `${wide}?fieldManager=a&force=true`, object('wide', 'a'), patch('apply-patch+yaml'), 200],
    ['an apply with conflicts', 'PATCH', `${wide}?fieldManager=b`, object('wide', 'b'), patch('apply-patch+yaml'), 409],
    ['a small patch of a large object', 'PATCH', wide, { data: { one: '1' } }, patch('merge-patch+json'), 200],
    ['an update answered in YAML', 'PUT', wide, object('wide', 'v'), { accept: 'application/yaml' }, 200],
    ['unknown fields', 'POST', maps, { metadata: { name: 'u' }, ...unknown }, {}, 201],
    [
      'unknown fields, strictly',
      'POST',
      `${maps}?fieldValidation=Strict`,
      { metadata: { name: 'v' }, ...unknown },
      {},
      400,
    ],
    ['a block scalar of YAML', 'POST', maps, lines(700_000), yaml, 201],
    ['YAML that is wrong at its end', 'POST', maps, `${lines(700_000)}]`, yaml, 400],
    [
      'a chain of certificates',
      'PUT',
      `${requests}/chain/status`,
      { ...signing, status: { certificate: chain } },
      {},
      200,
    ],
    ['options in YAML', 'DELETE', `${maps}/nobody`, lines(400_000), yaml, 404],
  ] as const) {
    test(what, async () => {
      const order: string[] = [];
      const noted = async (name: string, answer: Promise<Answer>): Promise<Answer> => {
        const done = await answer;
        order.push(name);
        return done;
      };
      const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
      const heavy = noted('heavy', server.request(method, path, { body: bytes, headers }));
      // The body is on its way, and there, by the time that these are answered one after the other.
      for (let n = 0; n < 3; n++) await noted('other', server.get('/livez'));
      const answer = await heavy;
      assert.equal(answer.status, status, answer.text.slice(0, 300));
      assert.deepEqual(order, ['other', 'other', 'other', 'heavy']);
    });
  }
});

describe('others are answered while a list of large objects is made', () => {
  for (const [what, accept, query] of [
    ['indented JSON', 'application/json', '?pretty=true'],
    ['YAML', 'application/yaml', ''],
    ['protobuf', 'application/vnd.orch.protobuf', ''],
    ['a table', 'application/json;as=Table;v=v1;g=meta.orch.io', ''],
    ['metadata in YAML', 'application/yaml;as=PartialObjectMetadataList;v=v1;g=meta.orch.io', ''],
  ] as const) {
    test(what, async () => {
      await server.put(wide, object('wide', 'listed'));
      const order: string[] = [];
      const noted = async (name: string, answer: Promise<Answer>): Promise<Answer> => {
        const done = await answer;
        order.push(name);
        return done;
      };
      const list = noted('list', server.get(`${maps}${query}`, { headers: { accept } }));
      for (let n = 0; n < 3; n++) await noted('other', server.get('/livez'));
      const answer = await list;
      assert.equal(answer.status, 200, answer.text.slice(0, 300));
      assert.ok(answer.text.includes('wide'));
      assert.deepEqual(order, ['other', 'other', 'other', 'list']);
    });
  }
});

describe('what a heavy request did is there', () => {
  test('for the reader that comes after its answer, in each format', async () => {
    await server.put(wide, object('wide', 'last'));
    const read = await server.get<{ readonly data: Readonly<Record<string, string>> }>(wide);
    assert.equal(read.json.data['k29999'], 'last');
    const shown = await server.get(wide, { headers: { accept: 'application/yaml' } });
    assert.match(shown.text, /\n {2}k29999: last\n/);
    const pretty = await server.get(`${wide}?pretty=true`);
    assert.match(pretty.text, /\n {4}"k29999": "last"/);
    const table = await server.get<{ readonly rows: readonly { readonly cells: readonly unknown[] }[] }>(wide, {
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.orch.io' },
    });
    assert.deepEqual(table.json.rows[0]?.cells.slice(0, 2), ['wide', 30_000]);
  });

  test('in turn with small ones: none is lost', async () => {
    await server.post(maps, object('turns', 'x'));
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) =>
        server.request('PATCH', `${maps}/turns`, {
          body: n % 4 === 0 ? { data: data(`v${n}`) } : { data: { [`small-${n}`]: `${n}` } },
          headers: patch('merge-patch+json'),
        }),
      ),
    );
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const read = await server.get<{ readonly data: Readonly<Record<string, string>> }>(`${maps}/turns`);
    for (let n = 0; n < 12; n++) if (n % 4 !== 0) assert.equal(read.json.data[`small-${n}`], `${n}`);
  });
});
