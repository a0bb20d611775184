import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parseFlags } from '../../src/cli/flags/flags.ts';
import { serverFlags } from '../../src/cli/flags/server-flags.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { requestText, sendRaw, statusOf } from '../support/raw-client.ts';

/** Names that mean something to the language mean nothing special in what clients send. */
let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start();
});
after(async () => {
  assert.equal((await server.get('/readyz')).status, 200, 'the server still serves');
  await server[Symbol.asyncDispose]();
});

const configMaps = '/api/v1/namespaces/default/configmaps';
const yaml = { 'content-type': 'application/yaml' };
/** What every object of the language has or seems to have. `__proto__` is written as text: a literal would not hold it. */
const special = ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'valueOf', '__defineGetter__'];
/** Fields under names that stand for a prototype: had they become one, every later object would seem to have them. */
const poison =
  '{"polluted":"yes","metadata":{"name":"polluted"},"data":{"polluted":"yes"},"labels":{"polluted":"yes"}}';

interface ConfigMap {
  readonly metadata: { readonly name: string; readonly labels?: object; readonly annotations?: object };
  readonly data?: Readonly<Record<string, string>>;
}

let count = 0;

/** A fresh object has exactly the fields that it was given: nothing has reached the prototype that all share. */
async function assertClean(): Promise<void> {
  const name = `clean-${count++}`;
  const created = await server.post<ConfigMap>(configMaps, { metadata: { name } });
  assert.equal(created.status, 201, created.text);
  assert.deepEqual(Object.keys(created.json).sort(), ['apiVersion', 'kind', 'metadata']);
  const nameless = await server.post(configMaps, {});
  assert.equal(nameless.status, 422, 'a name must not come from a prototype');
  const found = await server.get<{ items: unknown[] }>(`${configMaps}?labelSelector=polluted`);
  assert.deepEqual(found.json.items, []);
}

describe('bodies', () => {
  const bodies: readonly (readonly [what: string, body: string, headers?: Readonly<Record<string, string>>])[] = [
    ['a prototype', `{"__proto__":${poison}}`],
    ['a prototype of metadata', `{"metadata":{"__proto__":{"name":"polluted","labels":{"polluted":"yes"}}}}`],
    ['a prototype in escapes', `{"\\u005f_proto__":${poison}}`],
    ['a constructor', `{"constructor":{"prototype":${poison}}}`],
    ['a prototype of labels', `{"metadata":{"name":"x","labels":{"__proto__":{"polluted":"yes"}}}}`],
    ['a prototype in YAML', `__proto__: ${poison}`, yaml],
    ['a merge of a prototype in YAML', `a: &a {__proto__: ${poison}}\n<<: *a`, yaml],
    ['a prototype in YAML escapes', `"\\x5f_proto__": ${poison}`, yaml],
  ];
  for (const [what, body, headers] of bodies) {
    test(`${what} gives no name`, async () => {
      const answer = await server.post(configMaps, body, { headers });
      assert.ok(answer.status === 422 || answer.status === 400, answer.text);
      await assertClean();
    });
  }

  const map = `{${special.map((name) => `"${name}":"of ${name}"`).join(',')}}`;
  const expected = Object.fromEntries(special.map((name) => [name, `of ${name}`]));
  for (const [format, headers] of [
    ['JSON', {}],
    ['YAML', yaml],
  ] as const) {
    test(`keys of maps are kept as they are, in ${format}`, async () => {
      const name = `keys-${format.toLowerCase()}`;
      const created = await server.post(configMaps, `{"metadata":{"name":"${name}"},"data":${map}}`, { headers });
      assert.equal(created.status, 201, created.text);
      const got = await server.get<ConfigMap>(`${configMaps}/${name}`);
      assert.deepEqual(Object.entries(got.json.data ?? {}).sort(), Object.entries(expected).sort());
      assert.ok(got.text.includes('"__proto__":"of __proto__"'));
      await assertClean();
    });
  }

  test('a field of that name is unknown like any other', async () => {
    for (const name of special) {
      const body = `{"metadata":{"name":"x"},"${name}":{"a":1}}`;
      const answer = await server.post(`${configMaps}?fieldValidation=Strict`, body);
      assert.ok(answer.status === 400 || answer.status === 201, answer.text);
      if (answer.status === 201) assert.equal(Object.hasOwn(answer.json, name), false, name);
      await server.delete(`${configMaps}/x`);
    }
    await assertClean();
  });

  test('a label of that name is checked like any other', async () => {
    const labelled = (name: string): string => `{"metadata":{"name":"labelled","labels":{"${name}":"a"}}}`;
    assert.equal((await server.post(configMaps, labelled('__proto__'))).status, 422);
    assert.equal((await server.post(configMaps, labelled('constructor'))).status, 201);
    await assertClean();
  });
});

describe('patches', () => {
  const rows: readonly (readonly [type: string, patch: string])[] = [
    ['application/merge-patch+json', `{"__proto__":${poison}}`],
    ['application/merge-patch+json', `{"constructor":{"prototype":${poison}}}`],
    ['application/merge-patch+json', `{"metadata":{"__proto__":{"labels":{"polluted":"yes"}}}}`],
    ['application/merge-patch+json', `{"metadata":{"labels":{"__proto__":{"polluted":"yes"}}}}`],
    ['application/merge-patch+json', `{"data":{"constructor":{"prototype":{"polluted":"yes"}}}}`],
    ['application/strategic-merge-patch+json', `{"__proto__":${poison},"metadata":{"__proto__":${poison}}}`],
    ['application/strategic-merge-patch+json', `{"constructor":{"prototype":${poison}}}`],
    ['application/json-patch+json', `[{"op":"add","path":"/__proto__/polluted","value":"yes"}]`],
    ['application/json-patch+json', `[{"op":"add","path":"/metadata/__proto__/labels","value":{"polluted":"yes"}}]`],
    ['application/json-patch+json', `[{"op":"add","path":"/constructor/prototype/polluted","value":"yes"}]`],
    ['application/json-patch+json', `[{"op":"copy","from":"/metadata","path":"/__proto__/metadata"}]`],
    ['application/json-patch+json', `[{"op":"test","path":"/constructor/name","value":"Object"}]`],
    ['application/apply-patch+yaml', `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"__proto__":${poison}}}`],
  ];
  for (const [type, patch] of rows) {
    test(`${type} ${patch.slice(0, 60)}`, async () => {
      const name = `patched-${count++}`;
      await server.post(configMaps, { metadata: { name }, data: { a: 'b' } });
      const headers = { 'content-type': type };
      const answer = await server.request('PATCH', `${configMaps}/${name}?fieldManager=test&force=true`, {
        body: patch,
        headers,
      });
      assert.ok(answer.status < 500, answer.text);
      const after = await server.get<ConfigMap>(`${configMaps}/${name}`);
      assert.doesNotMatch(after.text, /polluted/);
      await assertClean();
    });
  }

  test('set and remove keys of a map like any other', async () => {
    await server.post(configMaps, `{"metadata":{"name":"plain"},"data":{"a":"b","__proto__":"old","toString":"old"}}`);
    const answer = await server.request<ConfigMap>('PATCH', `${configMaps}/plain`, {
      body: '{"data":{"__proto__":null,"toString":null,"constructor":"new","valueOf":null}}',
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(Object.entries(answer.json.data ?? {}).sort(), [
      ['a', 'b'],
      ['constructor', 'new'],
    ]);
  });
});

describe('queries', () => {
  const list = async (query: string): Promise<{ status: number; names: string[]; text: string }> => {
    const { status, json, text } = await server.get<{ items?: ConfigMap[] }>(`${configMaps}?${query}`);
    return { status, names: json.items?.map(({ metadata }) => metadata.name) ?? [], text };
  };
  const selector = (text: string): string => `labelSelector=${encodeURIComponent(text)}`;

  test('a label selector asks for labels that an object has itself', async () => {
    const labels = { constructor: 'x', valueOf: 'y' };
    await server.post(configMaps, { metadata: { name: 'own', labels } });
    await server.delete(`${configMaps}/labelled`);
    assert.deepEqual((await list(selector('constructor'))).names, ['own']);
    assert.deepEqual((await list(selector('toString'))).names, []);
    assert.deepEqual((await list(selector('constructor in (x,y)'))).names, ['own']);
    const without = (await list(selector('!constructor,!valueOf'))).names;
    assert.ok(without.length > 0 && !without.includes('own'));
    assert.deepEqual((await list(selector('!toString'))).names.length, without.length + 1);
    assert.equal((await list(selector('__proto__'))).status, 400);
  });

  test('a field selector knows no inherited field', async () => {
    for (const field of [...special, ...special.map((name) => `metadata.${name}`), 'metadata.name.length']) {
      const { status, text } = await list(`fieldSelector=${encodeURIComponent(`${field}=x`)}`);
      assert.equal(status, 400, text);
      assert.match(text, /field label not supported|is not a known field selector/);
    }
  });

  test('a continue token has its fields itself', async () => {
    const inner = '{"v":1,"rv":1,"of":"/core/configmaps/default/","after":"a"}';
    for (const token of [
      `{"__proto__":${inner}}`,
      `{"constructor":{"prototype":${inner}}}`,
      '"__proto__"',
      '[]',
      'null',
    ]) {
      const { status, text } = await list(`continue=${Buffer.from(token).toString('base64url')}`);
      assert.equal(status, 400, text);
    }
    await assertClean();
  });

  test('a parameter of that name is ignored like any unknown one', async () => {
    for (const name of special) {
      const query = `${name}=true&${name}[polluted]=yes&${encodeURIComponent(`${name}.polluted`)}=yes`;
      assert.equal((await list(query)).status, 200, query);
    }
    await assertClean();
  });
});

describe('paths and headers', () => {
  for (const name of special) {
    test(`${name} is no resource, group, version, subresource, check or format`, async () => {
      for (const path of [
        `/api/${name}`,
        `/api/${name}/configmaps`,
        `/api/v1/${name}`,
        `/api/v1/namespaces/default/${name}`,
        `/api/v1/namespaces/default/pods/x/${name}`,
        `/apis/${name}`,
        `/apis/${name}/${name}`,
        `/apis/${name}/v1/${name}`,
        `/openapi/v3/api/${name}`,
        `/openapi/v3/apis/${name}/v1`,
        `/livez/${name}`,
        `/${name}`,
      ]) {
        const answer = await server.get(path);
        assert.equal(answer.status, 404, `${path}: ${answer.text}`);
      }
      const accept = await server.get(configMaps, { headers: { accept: `${name}/${name}` } });
      assert.equal(accept.status, 406, accept.text);
      const parameter = await server.get(configMaps, { headers: { accept: `application/json;${name}=x;as=${name}` } });
      assert.ok(parameter.status === 406 || parameter.status === 200, parameter.text);
      const type = await server.post(configMaps, '{}', { headers: { 'content-type': `application/${name}` } });
      assert.equal(type.status, 415, type.text);
      const method = statusOf(await sendRaw(server, requestText(name.replaceAll('_', ''), configMaps)));
      assert.ok(method >= 400 && method < 500, String(method));
      assert.equal(statusOf(await sendRaw(server, requestText('GET', configMaps, `${name}: x`, `${name}: y`))), 200);
    });
  }
});

test('command lines have no such flags, gates or dialects', () => {
  for (const name of special) {
    for (const arg of [
      `--${name}=x`,
      `--feature-gates=${name}=true`,
      `--dialect=${name}`,
      `--storage-backend=${name}`,
    ]) {
      assert.throws(() => parseFlags(serverFlags, [arg]), { name: 'UsageError' }, arg);
    }
  }
});
