import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Answer, OrchProcess } from '../support/orch-process.ts';

interface Body {
  readonly message: string;
  readonly reason: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly metadata: {
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly { readonly manager: string; readonly fieldsV1: object }[];
  };
  readonly details?: { readonly causes?: readonly { readonly field: string }[] };
}

let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start();
});
after(() => server[Symbol.asyncDispose]());

const configMaps = '/api/v1/namespaces/default/configmaps';

let count = 0;
/** The path of an object that no other test has. */
const fresh = (): { readonly name: string; readonly path: string } => {
  const name = `o${++count}`;
  return { name, path: `${configMaps}/${name}` };
};

/** An object that is there. */
async function stored(data: Readonly<Record<string, string>> = { k: 'v' }): Promise<ReturnType<typeof fresh>> {
  const target = fresh();
  assert.equal((await server.post(configMaps, { metadata: { name: target.name }, data })).status, 201);
  return target;
}

const send = (method: string, path: string, type: string, body: unknown, headers = {}): Promise<Answer<Body>> =>
  server.request(method, path, { body, headers: { 'content-type': type, ...headers } });

const applyType = 'application/apply-patch+yaml';
const applied = (name: string, more = ''): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n${more}`;

const patchTypes: readonly (readonly [type: string, status: number])[] = [
  ['application/json-patch+json', 200],
  ['application/merge-patch+json', 200],
  ['application/strategic-merge-patch+json', 200],
  ['application/apply-patch+yaml', 200],
  ['application/merge-patch+json; charset=utf-8', 200],
  ['application/merge-patch+json;charset=UTF-8', 200],
  ['application/json', 415],
  ['application/yaml', 415],
  ['text/plain', 415],
  ['', 415],
  ['application/json-patch+cbor', 415],
  ['application/merge-patch+cbor', 415],
  ['application/strategic-merge-patch+cbor', 415],
  ['application/apply-patch+json', 415],
  ['application/apply-patch+cbor', 415],
];
for (const [type, status] of patchTypes) {
  test(`4.6 PATCH with content type ${JSON.stringify(type)}: ${status}`, async () => {
    const { name, path } = await stored();
    const kind = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
    const answer = await send(
      'PATCH',
      `${path}?fieldManager=m`,
      type,
      type.startsWith('application/json-patch') ? [] : kind,
    );
    assert.equal(answer.status, status, answer.text);
    if (status !== 415) return;
    assert.equal(answer.json.reason, 'UnsupportedMediaType');
    assert.match(answer.json.message, /application\/json-patch\+json.*application\/apply-patch\+yaml/);
  });
}

const warned = (answer: Answer<Body>): readonly string[] =>
  [answer.headers['warning'] ?? []]
    .flat()
    .join(', ')
    .match(/299 - "(?:[^"\\]|\\.)*"/g) ?? [];

test('RFC 7234: an unknown field is a warning of code 299 from agent -, its quotes escaped', async () => {
  const answer = await send('POST', configMaps, 'application/json', { metadata: fresh(), odd: 1 });
  assert.equal(answer.status, 201);
  assert.deepEqual(warned(answer), ['299 - "unknown field \\"metadata.path\\""', '299 - "unknown field \\"odd\\""']);
});

test('a warning shows no line breaks or control characters of the client, and other letters as they are', async () => {
  const body = `{"metadata":{"name":"${fresh().name}"},"a\\r\\nSet-Cookie: x":1,"grün\\u0007":2}`;
  const answer = await send('POST', configMaps, 'application/json', body);
  assert.equal(answer.status, 201);
  assert.equal(answer.headers['set-cookie'], undefined);
  const texts = warned(answer).map((text) => Buffer.from(text, 'latin1').toString());
  assert.equal(texts.length, 2);
  assert.match(texts.join(), /^\P{Cc}*a\\\\r\\\\nSet-Cookie: x\P{Cc}*grün\P{Cc}*$/u);
});

test('Ignore and Strict send no warnings', async () => {
  const body = { metadata: { name: fresh().name }, odd: 1 };
  const strict = await send('POST', `${configMaps}?fieldValidation=Strict`, 'application/json', body);
  assert.deepEqual([strict.status, warned(strict)], [400, []]);
  const ignored = await send('POST', `${configMaps}?fieldValidation=Ignore`, 'application/json', body);
  assert.deepEqual([ignored.status, warned(ignored)], [201, []]);
});

const duplicates: readonly (readonly [method: string, type: string, body: (name: string) => string])[] = [
  ['POST', 'application/json', (name) => `{"metadata":{"name":"${name}"},"data":{"d":"1","d":"2"}}`],
  ['POST', 'application/yaml', (name) => `metadata: {name: ${name}}\ndata: {d: "1", d: "2"}\n`],
  ['PUT', 'application/yaml', (name) => `metadata: {name: ${name}}\ndata:\n  d: "1"\n  d: "2"\n`],
  ['PATCH', 'application/merge-patch+json', () => '{"data":{"d":"1","d":"2"}}'],
  ['PATCH', 'application/strategic-merge-patch+json', () => '{"data":{"d":"1","d":"2"}}'],
  ['PATCH', applyType, (name) => applied(name, 'data: {d: "1", d: "2"}\n')],
  [
    'PATCH',
    applyType,
    (name) => `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{"d":"1","d":"2"}}`,
  ],
];
for (const [method, type, body] of duplicates) {
  test(`duplicate fields of a ${method} of ${type} are told, or refused: ${body('x').slice(0, 12).trim()}`, async () => {
    const { name, path } = method === 'POST' ? fresh() : await stored();
    const target = `${method === 'POST' ? configMaps : path}?fieldManager=m`;
    const strict = await send(method, `${target}&fieldValidation=Strict`, type, body(name));
    assert.equal(strict.status, 400);
    assert.match(strict.json.message, /duplicate field "data\.d"/);
    const answer = await send(method, target, type, body(name));
    assert.equal(answer.json.data?.['d'], '2', answer.text);
    assert.deepEqual(warned(answer), ['299 - "duplicate field \\"data.d\\""']);
  });
}

const mergeType = 'application/merge-patch+json';
for (const [type, query, status] of [
  [mergeType, 'force=true', 422],
  [mergeType, 'force=false', 422],
  [applyType, 'force=maybe', 400],
  [applyType, 'force=true', 200],
  [applyType, 'force=1', 200],
  [applyType, 'force=false', 200],
] as const) {
  test(`force is for apply only, and must be a boolean: ${type} with ${query} is ${status}`, async () => {
    const { name, path } = await stored();
    const body = type === applyType ? applied(name) : {};
    const answer = await send('PATCH', `${path}?fieldManager=m&${query}`, type, body);
    assert.equal(answer.status, status, answer.text);
    if (status !== 200) assert.match(answer.json.message, /force/);
  });
}

test('fieldManager: 128 bytes of printable characters; else the User-Agent says who writes', async () => {
  const { path } = await stored();
  const write = (query: string, userAgent?: string): Promise<Answer<Body>> =>
    send(
      'PATCH',
      `${path}${query}`,
      'application/merge-patch+json',
      { data: { [`k${++count}`]: 'v' } },
      userAgent ? { 'user-agent': userAgent } : {},
    );
  const managersOf = ({ json }: Answer<Body>): readonly string[] =>
    json.metadata.managedFields?.map(({ manager }) => manager) ?? [];
  const long = 'x'.repeat(128);
  assert.ok(managersOf(await write(`?fieldManager=${long}`)).includes(long));
  for (const bad of [`${long}y`, 'a%00', '%E2%80%8B', 'é'.repeat(65)]) {
    const answer = await write(`?fieldManager=${encodeURI(decodeURIComponent(bad))}`);
    assert.equal(answer.status, 422, bad);
    assert.deepEqual(
      answer.json.details?.causes?.map(({ field }) => field),
      ['fieldManager'],
    );
  }
  assert.ok(managersOf(await write('', 'tool/v1 (linux)')).includes('tool'));
  const agent = Buffer.from('é'.repeat(200)).toString('latin1');
  assert.equal((await write('', agent)).status, 200, 'a client of any name can write');
});

test('a patch past the body limit is 413, one as large as that is read', async () => {
  const { path } = await stored();
  const patch = (size: number): string => `{"data":{"k":"${'x'.repeat(size - 17)}"}}`;
  const large = await send('PATCH', path, 'application/merge-patch+json', patch(3 * 1024 * 1024 + 20));
  assert.equal(large.status, 413);
  const within = await send('PATCH', path, 'application/merge-patch+json', patch(3 * 1024 * 1024));
  assert.equal(within.status, 422, 'what it makes is too large for a ConfigMap');
  const operations = JSON.stringify(
    Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/data/k', value: 'v' })),
  );
  assert.equal((await send('PATCH', path, 'application/json-patch+json', operations)).status, 413);
  assert.deepEqual((await server.get<Body>(path)).json.data, { k: 'v' });
});

test('an apply of a hundred thousand fields is answered, owned and given up', async () => {
  const { name, path } = fresh();
  const body = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, ''])),
  };
  const made = await send('PATCH', `${path}?fieldManager=m`, applyType, body);
  assert.equal(made.status, 201, made.text.slice(0, 200));
  const again = await send('PATCH', `${path}?fieldManager=m`, applyType, body);
  assert.equal(again.json.metadata.resourceVersion, made.json.metadata.resourceVersion);
  const given = await send('PATCH', `${path}?fieldManager=m`, applyType, applied(name));
  assert.equal(given.json.data, undefined);
});

const malformed: readonly (readonly [what: string, type: string, body: string | Buffer])[] = [
  ['half a JSON document', 'application/merge-patch+json', '{"data":'],
  ['nothing', 'application/merge-patch+json', ''],
  ['YAML where JSON is due', 'application/merge-patch+json', 'data: {k: v}'],
  ['bytes that are no UTF-8', mergeType, Buffer.from('{"data":{"k":"\xff"}}', 'latin1')],
  ['nesting without end', 'application/merge-patch+json', '{"a":'.repeat(50_000)],
  ['YAML that is none', applyType, 'a: [b'],
  ['a YAML list', applyType, '- a\n- b\n'],
  ['two YAML documents', applyType, 'a: 1\n---\nb: 2\n'],
  [
    'aliases that grow',
    applyType,
    `a: &a [x,x,x,x]\n${Array.from({ length: 30 }, (_, n) => `b${n}: [*a,*a,*a,*a,*a]`).join('\n')}`,
  ],
  ['operations that are no objects', 'application/json-patch+json', '[1,null,"x"]'],
];
for (const [what, type, body] of malformed) {
  test(`a patch that is ${what}: 400, and the object stays as it is`, async () => {
    const { path } = await stored();
    const answer = await send('PATCH', `${path}?fieldManager=m`, type, body);
    assert.equal(answer.status, 400, answer.text);
    assert.equal(answer.json.reason, 'BadRequest');
    assert.deepEqual((await server.get<Body>(path)).json.data, { k: 'v' });
  });
}

test('integers past 2^53 go through HTTP as they are', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  const { name } = fresh();
  const seconds = '9007199254740993';
  await server.post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  const made = await send(
    'POST',
    pods,
    'application/yaml',
    `metadata: {name: ${name}}\nspec:\n  automountServiceAccountToken: false\n  containers: [{name: c, image: i}]\n` +
      `  tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: ${seconds}}]\n`,
  );
  assert.equal(made.status, 201, made.text);
  for (const accept of ['application/json', 'application/yaml']) {
    assert.match((await server.get(`${pods}/${name}`, { headers: { accept } })).text, new RegExp(`${seconds}\\b`));
  }
  assert.match((await server.get(pods)).text, new RegExp(seconds));
});

test('a stale version is 409 Conflict, and a Lease cannot be updated without one', async () => {
  const { name, path } = await stored();
  const first = (await server.get<Body>(path)).json;
  await server.put(path, { metadata: { name }, data: { k: 'w' } });
  const stale = await server.put<Body>(path, first);
  assert.deepEqual([stale.status, stale.json.reason], [409, 'Conflict']);
  const lease = `/apis/coordination.orch.io/v1/namespaces/default/leases`;
  await server.post(lease, { metadata: { name } });
  const blind = await server.put<Body>(`${lease}/${name}`, { metadata: { name } });
  assert.equal(blind.status, 422);
  assert.deepEqual(
    blind.json.details?.causes?.map(({ field }) => field),
    ['metadata.resourceVersion'],
  );
});
