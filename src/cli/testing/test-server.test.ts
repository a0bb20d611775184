import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import type { ClientRequest, IncomingMessage } from 'node:http';
import https from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { once, until, within } from '../../base/waits-fixture.ts';
import { parseYaml } from '../../codec/yaml.ts';
import { makeCertificate } from '../../pki/certificate-fixture.ts';
import { type ClientTls, startTestServer, type TestServer, type TestServerOptions } from './testing.ts';

const folder = mkdtempSync(join(tmpdir(), 'orch-testing-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const configMaps = '/api/v1/namespaces/default/configmaps';

const responseTo = async (request: ClientRequest): Promise<IncomingMessage> =>
  (await once(request, 'response'))[0] as IncomingMessage;

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
}

async function ask(server: TestServer, target: string, tls: ClientTls = server.tls, body?: unknown): Promise<Answer> {
  const method = body === undefined ? 'GET' : 'POST';
  const headers = { 'content-type': 'application/json' };
  const request = https.request(server.url + target, { ...tls, method, headers, agent: false });
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const response = await responseTo(request);
  const text = Buffer.concat(await Array.fromAsync(response)).toString();
  return { status: response.statusCode ?? 0, json: JSON.parse(text) };
}

const definition = (plural: string, dialect: 'orch' | 'kubernetes' = 'orch') => ({
  apiVersion: dialect === 'orch' ? 'apiextensions.orch.io/v1' : 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.example.org` },
  spec: {
    group: 'example.org',
    scope: 'Namespaced',
    names: { plural, kind: `${plural.slice(0, 1).toUpperCase()}${plural.slice(1)}` },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
});
const text = (plural: string) => JSON.stringify(definition(plural), undefined, 2);
const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

describe('startTestServer', () => {
  it('gives a server with an administrator and users, each known to this server alone', async () => {
    await using one = await startTestServer();
    await using other = await startTestServer();
    assert.match(one.url, /^https:\/\/127\.0\.0\.1:\d+$/);
    assert.equal((await ask(one, configMaps, one.tls, { metadata: { name: 'a' } })).status, 201);
    assert.equal((await ask(other, `${configMaps}/a`)).status, 404);
    const jane = one.addUser('jane', { groups: ['readers'] });
    assert.deepEqual([jane.name, jane.groups, jane.url], ['jane', ['readers'], one.url]);
    assert.equal((await ask(one, configMaps, jane.tls)).status, 403);
    const review = { apiVersion: 'authentication.orch.io/v1', kind: 'SelfSubjectReview' };
    const target = '/apis/authentication.orch.io/v1/selfsubjectreviews';
    const { json } = await ask(one, target, jane.tls, review);
    const { userInfo } = json['status'] as { readonly userInfo: { readonly username: string; groups: string[] } };
    assert.deepEqual([userInfo.username, userInfo.groups], ['jane', ['readers', 'system:authenticated']]);
    assert.equal((await ask(other, configMaps, { ...jane.tls, ca: other.tls.ca })).status, 401);
    const admin = one.addUser('root', { groups: ['system:masters'] });
    assert.equal((await ask(one, configMaps, admin.tls)).status, 200);
  });

  it('gives connection files with all in them', async () => {
    await using server = await startTestServer({ dialect: 'kubernetes' });
    for (const [kubeconfig, tls] of [
      [server.kubeconfig, server.tls],
      (({ kubeconfig, tls }) => [kubeconfig, tls] as const)(server.addUser('jane')),
    ] as const) {
      const { value } = parseYaml(Buffer.from(kubeconfig)) as { readonly value: unknown };
      const { clusters, users } = value as {
        clusters: { cluster: Record<string, string> }[];
        users: { user: Record<string, string> }[];
      };
      const decode = (data = '') => Buffer.from(data, 'base64').toString();
      assert.equal(clusters[0]?.cluster['server'], server.url);
      assert.equal(decode(clusters[0]?.cluster['certificate-authority-data']), tls.ca);
      assert.equal(decode(users[0]?.user['client-certificate-data']), tls.cert);
      assert.equal(decode(users[0]?.user['client-key-data']), tls.key);
    }
  });

  it('runs the controllers: what a namespace needs is made, and it is emptied when it goes', async () => {
    await using server = await startTestServer();
    await ask(server, '/api/v1/namespaces', server.tls, { metadata: { name: 'a' } });
    const made = async () => (await ask(server, '/api/v1/namespaces/a/serviceaccounts/default')).status === 200;
    const started = performance.now();
    while (!(await made())) assert.ok(performance.now() - started < 60_000, 'no service account');
  });

  for (const [what, flags] of [
    [
      'a command line',
      ['--anonymous-auth=false', '--service-account-issuer=https://a', '--service-account-issuer', 'https://b'],
    ],
    [
      'an object',
      { 'anonymous-auth': false, 'service-account-issuer': ['https://a', 'https://b'], 'token-auth-file': undefined },
    ],
    [
      'names with dashes',
      { '--anonymous-auth': false, '--service-account-issuer': 'https://a', '--max-requests-inflight': 9 },
    ],
  ] as const) {
    it(`takes flags as ${what}`, async () => {
      await using server = await startTestServer({ flags });
      const { ca } = server.tls;
      assert.equal((await ask(server, '/version', { ca } as ClientTls)).status, 401);
      const { json } = await ask(server, '/.well-known/openid-configuration');
      assert.equal(json['issuer'], 'https://a');
    });
  }

  it('serves a certificate that flags name, which clients of its kubeconfig trust', async () => {
    const { cert, key } = makeCertificate({ name: 'localhost' });
    const flags = { 'tls-cert-file': file('tls.crt', cert), 'tls-private-key-file': file('tls.key', key) };
    await using server = await startTestServer({ flags });
    assert.ok(server.tls.ca.includes(cert));
    const tls = { ...server.tls, checkServerIdentity: () => undefined };
    assert.equal((await ask(server, configMaps, tls)).status, 200);
  });

  it('lets twenty run at once', async () => {
    const servers = await Promise.all(Array.from({ length: 20 }, () => startTestServer()));
    try {
      const created = await Promise.all(
        servers.map((server, index) => ask(server, configMaps, server.tls, { metadata: { name: `of-${index}` } })),
      );
      assert.deepEqual(new Set(created.map(({ status }) => status)), new Set([201]));
      const lists = await Promise.all(servers.map((server) => ask(server, configMaps)));
      for (const [index, { json }] of lists.entries()) {
        const items = json['items'] as { readonly metadata: { readonly name: string } }[];
        assert.deepEqual(
          items.map(({ metadata }) => metadata.name).filter((name) => !name.startsWith('orch-')),
          [`of-${index}`],
        );
      }
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
  });
});

describe('definitions', () => {
  const list = { apiVersion: 'v1', kind: 'List', items: [definition('apples'), definition('pears')] };
  const documents = `# fruit\n---\n${text('apples')}\n---\n---\n${text('pears')}\n`;
  mkdirSync(join(folder, 'fruit'));
  file('fruit/1.yaml', text('apples'));
  file('fruit/2.json', JSON.stringify(definition('pears')));
  file('fruit/notes.txt', 'nothing');
  const path = file('fruit.yaml', documents);
  for (const [what, definitions] of [
    ['objects', [definition('apples'), definition('pears')]],
    ['a list', list],
    ['text with several documents', documents],
    ['JSON of one line', [JSON.stringify(definition('apples')), JSON.stringify(definition('pears'))]],
    ['the path of a file', path],
    ['the URL of a file', pathToFileURL(path)],
    ['the path of a folder', [join(folder, 'fruit')]],
  ] as const) {
    it(`may be ${what}, and are served when the server is there`, async () => {
      await using server = await startTestServer({ definitions });
      for (const plural of ['apples', 'pears']) {
        const target = `/apis/example.org/v1/namespaces/default/${plural}`;
        const kind = definition(plural).spec.names.kind;
        const object = { apiVersion: 'example.org/v1', kind, metadata: { name: 'one' } };
        assert.equal((await ask(server, target, server.tls, object)).status, 201, plural);
      }
    });
  }

  it('have the names of the dialect', async () => {
    const options: TestServerOptions = { dialect: 'kubernetes', definitions: definition('apples', 'kubernetes') };
    await using server = await startTestServer(options);
    assert.equal((await ask(server, '/apis/example.org/v1/apples')).status, 200);
  });
});

describe('what is wrong is named, and nothing is left', () => {
  const other = definition('apples', 'kubernetes');
  const noSchema = { ...definition('apples'), spec: { ...definition('apples').spec, versions: [] } };
  const pear = {
    ...definition('pears'),
    spec: { ...definition('pears').spec, names: { plural: 'pears', kind: 'Apples' } },
  };
  for (const [what, options, message] of [
    ['an option', { nonsense: 1 }, /^nonsense is not an option; known: definitions, flags, dialect$/],
    ['the dialect', { dialect: 'k3s' }, /^dialect must be one of orch, kubernetes, got "k3s"$/],
    ['flags of another type', { flags: '--v=1' }, /^flags must be an array or an object, got string$/],
    ['a flag that is no text', { flags: [1] }, /^flags: expected texts, got 1$/],
    [
      'an unknown flag',
      { flags: ['--secure-prot=1'] },
      /^flags: unknown flag --secure-prot; did you mean --secure-port\?$/,
    ],
    ['a value', { flags: { 'secure-port': 'x' } }, /^flags: --secure-port: "x" is not a whole number from 0 to 65535$/],
    [
      'a flag about data',
      { flags: ['--sqlite-file=a'] },
      /^flags: --sqlite-file: is refused: a test server keeps nothing$/,
    ],
    [
      'a store elsewhere',
      { flags: ['--etcd-servers-overrides=/events#http://a:1'] },
      /^flags: --etcd-servers-overrides: is refused: .* in memory$/,
    ],
    [
      'resources elsewhere',
      { flags: ['--etcd-servers=http://a:1'] },
      /^flags: --etcd-servers: is refused: .* in memory$/,
    ],
    ['the dialect as a flag', { flags: ['--dialect=orch'] }, /^flags: --dialect: is refused: see the option dialect$/],
    ['a file of a flag', { flags: { 'client-ca-file': '/none' } }, /^flags: --client-ca-file: \/none/],
    [
      'flags that do not go together',
      { flags: ['--tls-cert-file=a'] },
      /^flags: --tls-cert-file needs --tls-private-key-file$/,
    ],
    [
      'a definition that is none',
      { definitions: [1] },
      /^definitions\[0\]: expected an object, a text or a path, got 1$/,
    ],
    ['a file', { definitions: ['/none.yaml'] }, /^definitions\[0\]: \/none\.yaml: ENOENT/],
    ['a text', { definitions: 'kind: {\n' }, /^definitions: .*line/],
    ['a document', { definitions: `${text('apples')}\n---\na: [\n` }, /^definitions: document 2: /],
    [
      'a kind',
      { definitions: [definition('a'), { kind: 'Pod' }] },
      /^definitions\[1\]: kind must be .*Definition, got "Pod"$/,
    ],
    [
      'the names of another dialect',
      { definitions: other },
      /^definitions: apiVersion must be that of the dialect: .*orch\.io/,
    ],
    ['what the server refuses', { definitions: [noSchema] }, /^definitions\[0\]: .*spec\.versions/],
    [
      'names that are taken',
      { definitions: [definition('apples'), pear] },
      /^definitions\[1\]: pears\.example\.org: .*Apples/,
    ],
  ] as const) {
    it(what, async () => {
      const before = process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP'));
      await assert.rejects(startTestServer(options as unknown as TestServerOptions), ({ message: text }: Error) => {
        assert.match(text, message);
        return true;
      });
      assert.deepEqual(
        process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP')),
        before,
      );
    });
  }

  it('a port in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { readonly port: number };
    const started = startTestServer({ flags: { 'secure-port': port } });
    await assert.rejects(started, /^TypeError: flags: 127\.0\.0\.1 port \d+ is in use: .*--secure-port$/);
    server.close();
  });

  it('users', async () => {
    await using server = await startTestServer();
    for (const [name, options] of [
      ['', {}],
      [1, {}],
      ['a', { groups: 'b' }],
      ['a', { groups: [''] }],
    ] as unknown as [string, object][]) {
      assert.throws(() => server.addUser(name, options), {
        name: 'TypeError',
        message: /^(the name of a user|groups) must/,
      });
    }
    await server.stop();
    assert.throws(() => server.addUser('late'), /the server is stopped/);
  });
});

describe('the end', () => {
  it('comes once, ends watches, and leaves nothing open', async () => {
    const open = () => process.getActiveResourcesInfo().filter((name) => !/Pipe|TTY|Immediate|Timeout/.test(name));
    const nothing = (): Promise<void> =>
      until(
        () => open().length === 0,
        () => `open: ${open()}`,
      );
    await nothing();
    const server = await startTestServer({ definitions: definition('apples') });
    const watch = https.get(`${server.url}${configMaps}?watch=true`, { ...server.tls, agent: false });
    const response = await responseTo(watch);
    response.resume();
    const ended = once(response, 'close');
    const stopped = server.stop();
    assert.equal(server.stop(), stopped);
    await within(stopped, 'the stop');
    await server.stop();
    await ended;
    await assert.rejects(ask(server, configMaps), { code: 'ECONNREFUSED' });
    await nothing();
  });

  it('of a program comes without it: servers and their connections keep no process alive', () => {
    const program = `
      import https from 'node:https';
      const { startTestServer } = await import(${JSON.stringify(new URL('./testing.ts', import.meta.url).href)});
      const server = await startTestServer({ definitions: ${JSON.stringify(definition('apples'))} });
      await startTestServer();
      const agent = new https.Agent({ keepAlive: true });
      const path = server.url + '/apis/example.org/v1/apples';
      const body = JSON.stringify({ apiVersion: 'example.org/v1', kind: 'Apples', metadata: { name: 'a' }, spec: 'x'.repeat(2_000_000) });
      const headers = { 'content-type': 'application/json', 'content-length': body.length };
      await new Promise((resolve, reject) =>
        https.get(path, { ...server.tls, agent }, (response) => response.resume().on('end', resolve)).on('error', reject));
      await new Promise((resolve, reject) =>
        https.request(server.url + '/apis/example.org/v1/namespaces/default/apples', { ...server.tls, agent, method: 'POST', headers },
          (response) => { console.log(response.statusCode); response.resume().on('end', resolve); }).on('error', reject).end(body));
    `;
    const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
    const place = mkdtempSync(join(folder, 'place-'));
    const options = { encoding: 'utf8', timeout: 60_000, cwd: place, env: { ...process.env, TMPDIR: place } } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, flags, options);
    assert.deepEqual([status, stdout, stderr], [0, '201\n', '']);
    assert.deepEqual(readdirSync(place), []);
  });
});
