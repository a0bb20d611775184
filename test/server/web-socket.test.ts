import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { silentLogger } from '../../src/base/logger.ts';
import { until } from '../../src/base/waits-fixture.ts';
import { opcodes } from '../../src/http/websocket/frames.ts';
import { openStore } from '../../src/store/open.ts';
import { as, Folder, type Rule, rule } from '../support/authorization.ts';
import { OrchProcess, type WatchEvent } from '../support/orch-process.ts';
import { withoutCertificate } from '../support/raw-client.ts';
import { WebSocketClient, type WebSocketClientOptions } from '../support/web-socket-client.ts';

/** Watches over WebSockets, for pages in browsers (RFC 6455; the published sub-protocol for tokens). */

const configMaps = '/api/v1/namespaces/default/configmaps';
const watching = `${configMaps}?watch=1`;
const binary = 'application/vnd.orch.protobuf';

const folder = new Folder();
after(() => folder[Symbol.dispose]());
const tokens = folder.tokens({ jane: [] });

/** What a page of any origin shows: a token, and a name to be answered with. */
const tokenHeader = (user: string, group: string, name = 'base64.binary.example'): string =>
  `sec-websocket-protocol: base64url.bearer.${group}.${Buffer.from(as(user).token).toString('base64url')}, ${name}`;
const foreign = 'origin: https://page.example';

async function grant(server: OrchProcess, domain: string, user: string, rules: readonly Rule[]): Promise<void> {
  const path = `/apis/rbac.authorization.${domain}/v1`;
  const subjects = [{ kind: 'User', apiGroup: `rbac.authorization.${domain}`, name: user }];
  const roleRef = { kind: 'ClusterRole', apiGroup: `rbac.authorization.${domain}`, name: user };
  assert.equal((await server.post(`${path}/clusterroles`, { metadata: { name: user }, rules })).status, 201);
  const bound = await server.post(`${path}/clusterrolebindings`, { metadata: { name: user }, subjects, roleRef });
  assert.equal(bound.status, 201, bound.text);
}

const eventsOf = (client: WebSocketClient): readonly WatchEvent[] =>
  client.messages.map(({ payload }) => JSON.parse(payload.toString()));
const shown = (client: WebSocketClient): readonly string[] =>
  eventsOf(client).map(({ type, object }) => `${type} ${object.metadata?.name ?? object.code ?? object.kind}`);

for (const [dialect, domain] of [
  ['orch', 'orch.io'],
  ['kubernetes', 'k8s.io'],
] as const) {
  describe(`a page of any origin with a token (${dialect})`, () => {
    let server: OrchProcess;
    before(async () => {
      server = await OrchProcess.start({ flags: [`--dialect=${dialect}`, tokens] });
      await grant(server, domain, 'jane', [rule('list watch', 'configmaps')]);
    });
    after(() => server[Symbol.asyncDispose]());

    for (const group of ['authorization.orch.io', 'authorization.k8s.io']) {
      test(`is told events as they come, each as one text (${group})`, async () => {
        const selector = `&labelSelector=of%3D${group}`;
        const metadata = { name: 'a', labels: { of: group } };
        const path = `${configMaps}/a`;
        assert.equal((await server.post(configMaps, { metadata })).status, 201);
        const client = await WebSocketClient.open(server, `${watching}${selector}`, {
          connection: withoutCertificate,
          headers: [tokenHeader('jane', group), foreign],
        });
        assert.deepEqual([client.status, client.accepted], [101, true], client.head);
        assert.equal(client.header('sec-websocket-protocol'), 'base64.binary.example');
        await client.until(() => client.messages.length === 1);
        assert.equal((await server.put(path, { metadata, data: { k: 'v' } })).status, 200);
        assert.equal((await server.delete(path)).status, 200);
        await client.until(() => client.messages.length === 3);
        assert.deepEqual(shown(client), ['ADDED a', 'MODIFIED a', 'DELETED a']);
        assert.ok(client.messages.every(({ opcode }) => opcode === opcodes.text));
        client.send(opcodes.close, Buffer.from([0x03, 0xe9]));
        assert.equal(await client.closedByServer(), 1001);
        assert.ok(!server.log.includes(as('jane').token));
      });
    }

    /** In the place of events: what the request itself is answered with. */
    const refused: readonly (readonly [what: string, path: string, headers: readonly string[], status: number])[] = [
      ['that nobody knows', watching, [tokenHeader('nobody', `authorization.${domain}`)], 401],
      ['alone', watching, [tokenHeader('jane', `authorization.${domain}`, '')], 401],
      ['and no right to it', '/api/v1/secrets?watch=1', [tokenHeader('jane', `authorization.${domain}`)], 403],
      [
        'and a resource that is not there',
        '/api/v1/nosuch?watch=1',
        [tokenHeader('jane', `authorization.${domain}`)],
        403,
      ],
      ['and a bad version', `${watching}&resourceVersion=x`, [tokenHeader('jane', `authorization.${domain}`)], 400],
      [
        'and a format that there is not',
        watching,
        [tokenHeader('jane', `authorization.${domain}`), 'accept: image/png'],
        406,
      ],
      [
        'in a request that is no watch',
        configMaps,
        [tokenHeader('jane', `authorization.${domain}`), 'connection: close'],
        403,
      ],
    ];
    for (const [what, path, headers, status] of refused) {
      test(`${what} is refused with ${status}`, async () => {
        const connection = withoutCertificate;
        const client = await WebSocketClient.open(server, path, { connection, headers: [...headers, foreign] });
        assert.equal(client.status, status, client.head);
        assert.match(client.head, /"kind":"Status"/);
        assert.ok(client.ended);
      });
    }
  });
}

/** Opens a watch both ways and waits until both have ended by themselves. */
async function bothWays(
  server: OrchProcess,
  query: string,
  accept: string,
): Promise<{ readonly plain: Buffer; readonly client: WebSocketClient }> {
  const path = `${watching}&timeoutSeconds=1&${query}`;
  const [answer, client] = await Promise.all([
    server.get(path, { headers: { accept } }),
    WebSocketClient.open(server, path, { headers: [`accept: ${accept}`] }),
  ]);
  assert.deepEqual([answer.status, client.status], [200, 101], answer.text + client.head);
  assert.equal(await client.closedByServer(), 1000);
  return { plain: answer.bytes, client };
}

/** Bookmarks tell how far the whole store is, and controllers write between two watches. */
const withoutProgress = (events: string): string =>
  events.replaceAll(/("type":"BOOKMARK".*?"resourceVersion":")\d+/g, '$1');

describe('a watch over a WebSocket', () => {
  let server: OrchProcess;
  let from: string;
  before(async () => {
    server = await OrchProcess.start({ flags: [tokens, '--feature-gates=CBORServingAndStorage=true'] });
    await grant(server, 'orch.io', 'jane', [rule('list watch', 'configmaps')]);
    // The controllers publish the authority in each namespace, some time after the start.
    await until(async () => {
      const { json } = await server.get<{ metadata: { resourceVersion: string }; items: object[] }>(configMaps);
      from = json.metadata.resourceVersion;
      return json.items.length > 0;
    }, 'the authority is not published');
    for (const name of ['a', 'b', 'c']) {
      await server.post(configMaps, { metadata: { name, labels: { name } }, data: { text: 'ä'.repeat(40_000) } });
    }
    await server.put(`${configMaps}/b`, { metadata: { name: 'b', labels: { name: 'b' } } });
    await server.delete(`${configMaps}/c`);
  });
  after(() => server[Symbol.asyncDispose]());

  const as1 = (kind: string, version = 'v1'): string => `application/json;as=${kind};g=meta.orch.io;v=${version}`;
  for (const [what, query, accept] of [
    ['from a version', () => `resourceVersion=${from}`, 'application/json'],
    ['from now, with the state', () => '', 'application/json'],
    ['of some', () => `resourceVersion=${from}&labelSelector=name+in+(a,c)`, 'application/json'],
    [
      'with a state that ends',
      () => 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
      '*/*',
    ],
    ['of metadata', () => `resourceVersion=${from}`, as1('PartialObjectMetadata')],
    ['of metadata of before', () => `resourceVersion=${from}`, as1('PartialObjectMetadata', 'v1beta1')],
  ] as const) {
    test(`${what} tells the same, byte by byte, and ends when it is time`, async () => {
      const { plain, client } = await bothWays(server, query(), accept);
      assert.equal(withoutProgress(client.text), withoutProgress(plain.toString()));
      assert.ok(client.messages.length >= 2);
      for (const { payload, opcode } of client.messages) {
        assert.equal(opcode, opcodes.text);
        assert.equal(typeof JSON.parse(payload.toString()).type, 'string');
      }
    });
  }

  test('of tables has columns in the first alone', async () => {
    const { client } = await bothWays(server, `resourceVersion=${from}`, as1('Table'));
    const columns = eventsOf(client).map(({ object }) => Array.isArray(object['columnDefinitions']));
    assert.deepEqual(columns, [true, false, false, false, false]);
  });

  test('in protobuf has binary messages, without the lengths that a stream needs', async () => {
    for (const query of ['', `resourceVersion=${from}`]) {
      const { plain, client } = await bothWays(server, query, binary);
      const lengths = client.messages.map(({ payload }) => {
        const length = Buffer.alloc(4);
        length.writeUInt32BE(payload.length);
        return length;
      });
      const framed = client.messages.flatMap(({ payload }, at) => [lengths[at] ?? Buffer.alloc(0), payload]);
      assert.deepEqual(Buffer.concat(framed), plain);
      assert.ok(client.messages.every(({ opcode }) => opcode === opcodes.binary));
    }
  });

  test('in CBOR has a binary message for each item of the sequence', async () => {
    for (const query of ['', `resourceVersion=${from}`]) {
      const { plain, client } = await bothWays(server, query, 'application/cbor');
      assert.deepEqual(Buffer.concat(client.messages.map(({ payload }) => payload)), plain);
      assert.ok(client.messages.every(({ opcode }) => opcode === opcodes.binary));
    }
  });

  test('is closed with what the client did wrong', async () => {
    const client = await WebSocketClient.open(server, watching);
    client.send(opcodes.text, 'x'.repeat(100_000));
    assert.equal(await client.closedByServer(), 1009);
  });

  test('answers pings, and what the client says changes nothing', async () => {
    const client = await WebSocketClient.open(server, `${watching}&resourceVersion=${from}`);
    client.send(opcodes.text, '{"type":"ADDED"}');
    client.send(opcodes.ping, 'are you there');
    await client.until(() => client.others.length === 1 && client.messages.length === 5);
    assert.equal(client.others[0]?.payload.toString(), 'are you there');
    client.close();
  });

  test('is of whom the sender says, where he may', async () => {
    for (const [path, status] of [
      [watching, 101],
      ['/api/v1/secrets?watch=1', 403],
    ] as const) {
      const client = await WebSocketClient.open(server, path, { headers: ['impersonate-user: jane'] });
      assert.equal(client.status, status, client.head);
      client.close();
    }
  });

  const own = (): string => `origin: https://127.0.0.1:${server.port}`;
  const bearer = `authorization: Bearer ${as('jane').token}`;
  const connections: readonly (readonly [what: string, options: () => WebSocketClientOptions, status: number])[] = [
    ['a certificate and no origin', () => ({}), 101],
    ['a certificate and the origin of the server', () => ({ headers: [own()] }), 101],
    ['a certificate and another origin', () => ({ headers: [foreign] }), 403],
    ['a certificate and a page without one', () => ({ headers: ['origin: null'] }), 403],
    ['a certificate, another origin and impersonation', () => ({ headers: [foreign, 'impersonate-user: jane'] }), 403],
    ['nothing and another origin', () => ({ connection: withoutCertificate, headers: [foreign] }), 403],
    [
      'a token in its header and another origin',
      () => ({ connection: withoutCertificate, headers: [foreign, bearer] }),
      101,
    ],
  ];
  for (const [what, options, status] of connections) {
    test(`with ${what}: ${status}`, async () => {
      const client = await WebSocketClient.open(server, watching, options());
      assert.equal(client.status, status, client.head);
      client.close();
    });
  }

  test('with a certificate and a token of another origin is of the token: a page cannot borrow the certificate', async () => {
    const headers = [tokenHeader('jane', 'authorization.orch.io'), foreign];
    for (const [path, status] of [
      [watching, 101],
      ['/api/v1/secrets?watch=1', 403],
    ] as const) {
      const client = await WebSocketClient.open(server, path, { headers });
      assert.equal(client.status, status, client.head);
      client.close();
    }
  });

  test('is closed in order when the server stops, and by another client that was not written here', async () => {
    await using another = await OrchProcess.start({ flags: [tokens] });
    await grant(another, 'orch.io', 'jane', [rule('list watch', 'configmaps')]);
    await another.post(configMaps, { metadata: { name: 'seen' } });
    const authority = join(another.dataDir, 'authority.pem');
    writeFileSync(authority, another.credentials.ca);
    const [, protocols = ''] = tokenHeader('jane', 'authorization.orch.io').split(': ');
    const script = `
      const socket = new WebSocket(process.argv[1], process.argv[2].split(', '));
      socket.onmessage = ({ data }) => {
        console.log(socket.protocol, typeof data, JSON.parse(data).object.metadata.name);
        socket.close(4000);
      };
      socket.onclose = ({ code, wasClean }) => console.log(code, wasClean);
    `;
    const url = `wss://127.0.0.1:${another.port}${watching}&fieldSelector=metadata.name%3Dseen`;
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: authority };
    const run = promisify(execFile)(process.execPath, ['--no-warnings', '-e', script, url, protocols], { env });
    assert.equal((await run).stdout, 'base64.binary.example string seen\n4000 true\n');
    const client = await WebSocketClient.open(another, watching);
    const stopped = another.stop();
    assert.equal(await client.closedByServer(), 1000);
    assert.equal(await stopped, 0);
  });
});

test('pages of an origin that the operator allows may use what browsers show by themselves', async () => {
  await using server = await OrchProcess.start({ flags: ['--cors-allowed-origins=//page\\.example(:|$)'] });
  for (const [origin, status] of [
    ['https://page.example', 101],
    ['https://page.example.evil.example', 403],
    ['https://evil.example https://page.example', 403],
  ] as const) {
    const client = await WebSocketClient.open(server, watching, { headers: [`origin: ${origin}`] });
    assert.equal(client.status, status, client.head);
    client.close();
  }
});

test('a version that is gone is told as an ERROR event, before the end', async () => {
  await using server = await OrchProcess.start();
  const { json } = await server.post<{ metadata: { resourceVersion: string } }>(configMaps, {
    metadata: { name: 'a' },
  });
  await server.post(configMaps, { metadata: { name: 'b' } });
  assert.equal(await server.stop(), 0);
  const store = await openStore({ backend: 'sqlite', file: join(server.dataDir, 'orch.db'), logger: silentLogger });
  await store.compact(await store.head());
  await store.close();
  await server.restart();
  const client = await WebSocketClient.open(server, `${watching}&resourceVersion=${json.metadata.resourceVersion}`);
  assert.equal(await client.closedByServer(), 1000);
  assert.deepEqual(shown(client), ['ERROR 410']);
});

test('a client that does not read is let go of, and the others are told all the same', async () => {
  await using server = await OrchProcess.start();
  const slow = await WebSocketClient.open(server, `${watching}&resourceVersion=0`);
  slow.pause();
  const fast = server.watch(watching);
  const data = { text: 'x'.repeat(900_000) };
  await fast.until(({ status }) => status === 200);
  let written = 0;
  for (; written < 40; written += 1) {
    const body = { metadata: { name: 'large' }, data: { ...data, written: String(written) } };
    const { status } =
      written === 0 ? await server.post(configMaps, body) : await server.put(`${configMaps}/large`, body);
    assert.ok(status === 200 || status === 201);
  }
  await fast.until(({ events }) => events.filter(({ object }) => object.metadata.name === 'large').length === 40);
  fast.close();
  slow.resume();
  assert.equal(await slow.closedByServer(), 1000);
  await until(() => slow.ended, 'the connection stays');
  assert.ok(slow.messages.length < 40, `${slow.messages.length} events were kept for it`);
});
