import assert from 'node:assert/strict';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { once, until } from '../../src/base/waits-fixture.ts';
import { readToClose } from '../../src/http/socket-fixture.ts';
import { agentAddress, ConnectedServer, split } from '../support/node-agent/connected-server.ts';
import { tokens } from '../support/server-configuration.ts';

/** What is passed on to nodes and pods, and what is refused before anything is sent. */

const pods = '/api/v1/namespaces/default/pods';
const spdy = ['connection: Upgrade', 'upgrade: SPDY/3.1', 'x-stream-protocol-version: v4.channel.k8s.io'];
const webSocket = [
  ...['connection: Upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'],
  ...['sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-protocol: v4.channel.k8s.io'],
];

let server: ConnectedServer;
before(async () => {
  server = await ConnectedServer.start();
  await server.create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  const endpoints = { daemonEndpoints: { kubeletEndpoint: { Port: 4444 } } };
  const at = (type: string, address: string) => ({ addresses: [{ type, address }], ...endpoints });
  await addNode('n1', at('InternalIP', agentAddress));
  await addNode('named', at('Hostname', 'n1.example'));
  await addNode('portless', { addresses: [{ type: 'InternalIP', address: agentAddress }] });
  await addNode('homeless', endpoints);
  await addNode('odd', at('Odd', '192.0.2.1'));
  for (const [name, nodeName] of [
    ['web', 'n1'],
    ['on-named', 'named'],
    ['on-homeless', 'homeless'],
    ['on-gone', 'gone'],
    ['waiting', undefined],
  ] as const) {
    await addPod(name, ['main'], nodeName);
  }
  await addPod('several', ['a', 'b'], 'n1');
  await addPod('with-ip', ['main'], 'n1', '192.0.2.77');
});
after(() => server?.[Symbol.asyncDispose]());

const addNode = (name: string, status: object) => server.create('/api/v1/nodes', { metadata: { name }, status });

async function addPod(name: string, containers: readonly string[], nodeName?: string, podIP?: string): Promise<void> {
  await server.create(pods, {
    metadata: { name },
    spec: {
      ...(nodeName !== undefined && { nodeName }),
      containers: containers.map((each) => ({ name: each, image: 'i', ports: [{ containerPort: 8080 }] })),
    },
  });
  if (podIP === undefined) return;
  const body = JSON.stringify({ status: { podIP, podIPs: [{ ip: podIP }] } });
  const socket = await server.open();
  const headers = [
    ...['content-type: application/merge-patch+json', `content-length: ${body.length}`, 'connection: close'],
  ];
  socket.write(`${ConnectedServer.text('PATCH', `${pods}/${name}/status`, headers)}${body}`);
  assert.match(await readToClose(socket), /^HTTP\/1\.1 200 /);
}

type Row = readonly [target: string, status: number, message: string | RegExp, headers?: readonly string[]];

describe('refusals, before anybody is connected to', () => {
  const positive = 'must be greater than 0';
  const invalid = (problem: string): string => `PodLogOptions "web" is invalid: ${problem}`;
  const rows: readonly Row[] = [
    [`${pods}/none/log`, 404, 'pods "none" not found'],
    [`${pods}/none/exec`, 404, 'pods "none" not found', spdy],
    [`${pods}/waiting/log`, 204, ''],
    [`${pods}/waiting/exec?command=a`, 400, 'pod waiting does not have a host assigned', spdy],
    [`${pods}/waiting/attach`, 400, 'pod waiting does not have a host assigned', webSocket],
    [`${pods}/waiting/portforward`, 400, 'pod waiting does not have a host assigned', spdy],
    [`${pods}/waiting/proxy/`, 400, 'address not allowed'],
    [`${pods}/on-gone/log`, 404, 'nodes "gone" not found'],
    [`${pods}/on-gone/exec`, 404, 'nodes "gone" not found', spdy],
    [`${pods}/on-homeless/log`, 500, 'no preferred addresses found; known addresses: []'],
    ['/api/v1/nodes/odd/proxy/', 500, 'no preferred addresses found; known addresses: [{Odd 192.0.2.1}]'],
    [`${pods}/several/log`, 400, 'a container name must be specified for pod several, choose one of: [a b]'],
    [`${pods}/several/exec`, 400, 'a container name must be specified for pod several, choose one of: [a b]', spdy],
    [`${pods}/several/attach?container=c`, 400, 'container c is not valid for pod several', spdy],
    [`${pods}/web/exec?command=a`, 400, 'Upgrade request required'],
    [`${pods}/web/attach`, 400, 'Upgrade request required'],
    [`${pods}/web/portforward`, 400, 'Upgrade request required'],
    [`${pods}/web/exec`, 400, 'Upgrade request required', ['connection: Upgrade', 'upgrade: h2c']],
    [`${pods}/web/exec?dryRun=All`, 400, 'dryRun is not supported', spdy],
    [`${pods}/web/exec?stdin=maybe`, 400, /query parameter stdin/, spdy],
    [`${pods}/web/portforward?ports=80,x`, 400, /query parameter ports: "x"/, spdy],
    [`${pods}/web/log?tailLines=x`, 400, /query parameter tailLines/],
    [`${pods}/web/log?sinceTime=noon`, 400, /query parameter sinceTime/],
    [`${pods}/web/log?tailLines=-1`, 422, invalid('tailLines: Invalid value: -1: must be greater than or equal to 0')],
    [`${pods}/web/log?limitBytes=0`, 422, invalid(`limitBytes: Invalid value: 0: ${positive}`)],
    [`${pods}/web/log?sinceSeconds=0`, 422, invalid(`sinceSeconds: Invalid value: 0: ${positive}`)],
    [
      `${pods}/web/log?sinceSeconds=1&sinceTime=2024-01-01T00:00:00Z`,
      422,
      invalid(': Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified'),
    ],
    [`${pods}/web/log?stream=Stdout`, 422, invalid('stream: Forbidden: may not be specified')],
    [`${pods}/ftp:web:80/proxy/`, 400, 'invalid pod request "ftp:web:80"'],
    [`${pods}/a:b:c:d/proxy/`, 400, 'invalid pod request "a:b:c:d"'],
    [`${pods}/with-ip:99999/proxy/`, 400, 'invalid pod request "with-ip:99999"'],
    ['/api/v1/nodes/:80/proxy/', 400, 'invalid node request ":80"'],
    ['/api/v1/nodes/none/proxy/', 404, 'nodes "none" not found'],
    [`${pods}/with-ip/proxy/a/../b`, 404, 'the server could not find the requested resource'],
    [`${pods}/with-ip/proxy/a/%2e%2e/b`, 404, 'the server could not find the requested resource'],
    [`${pods}/with-ip/proxy/a%2f..%2fb`, 404, 'the server could not find the requested resource'],
    [`${pods}/with-ip/exec/below`, 404, 'the server could not find the requested resource'],
    ['/api/v1/namespaces/default/configmaps/a/proxy/x', 404, 'the server could not find the requested resource'],
  ];
  for (const [target, status, message, headers] of rows) {
    it(`${target}: ${status} ${message}`, async () => {
      const before = server.opened.length;
      const answer = await server.ask('GET', target, headers);
      assert.equal(answer.status, status, answer.body);
      if (typeof message === 'string') assert.equal(answer.message, message);
      else assert.match(answer.message, message);
      assert.equal(server.opened.length, before, 'somebody was connected to');
    });
  }

  it('of methods that the path does not have', async () => {
    assert.equal((await server.ask('DELETE', `${pods}/web/log`)).status, 405);
    assert.equal((await server.ask('PUT', `${pods}/web/exec`, ['content-length: 0'])).status, 405);
  });
});

describe('an address of this machine, its link or of many is never connected to', () => {
  const rows: readonly (readonly [host: string, addresses?: readonly string[]])[] = [
    ...['127.0.0.1', '127.8.8.8', '169.254.169.254', '0.0.0.0', '224.0.0.1', '255.255.255.255', '203.0.113.1'].map(
      (each) => [each] as const,
    ),
    ...['::1', '::', 'fe80::1', 'ff02::1', '::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '::127.0.0.1'].map(
      (each) => [each] as const,
    ),
    ['64:ff9b::7f00:1'],
    ['rebound.example', ['127.0.0.1']],
    ['both.example', [agentAddress, '169.254.169.254']],
    ['none.example', []],
  ];
  for (const [at, [host, addresses]] of rows.entries()) {
    it(host, async () => {
      if (addresses) server.names.set(host, addresses);
      await addNode(`bad-${at}`, { addresses: [{ type: 'Hostname', address: host }] });
      await addPod(`on-bad-${at}`, ['main'], `bad-${at}`);
      const before = server.opened.length;
      for (const [target, headers] of [
        [`/api/v1/nodes/bad-${at}/proxy/`, []],
        [`/api/v1/nodes/https:bad-${at}:80/proxy/`, []],
        [`${pods}/on-bad-${at}/log`, []],
        [`${pods}/on-bad-${at}/exec?command=a`, spdy],
        [`${pods}/on-bad-${at}/portforward`, webSocket],
      ] as const) {
        const { status, message } = await server.ask('GET', target, headers);
        assert.deepEqual([status, message], [400, 'address not allowed'], target);
      }
      assert.equal(server.opened.length, before);
    });
  }

  it('of a pod', async () => {
    for (const [at, podIP] of ['127.0.0.1', '169.254.169.254', '::1'].entries()) {
      await addPod(`bad-ip-${at}`, ['main'], 'n1', podIP);
      const { status, message } = await server.ask('GET', `${pods}/bad-ip-${at}:80/proxy/`);
      assert.deepEqual([status, message], [400, 'address not allowed'], podIP);
    }
  });

  it('a name is looked up once, and the address that was checked is the one', async () => {
    server.names.set('n1.example', [agentAddress]);
    const before = server.opened.length;
    assert.equal((await server.ask('GET', `${pods}/on-named/log`)).status, 200);
    assert.deepEqual(server.opened.slice(before), [`${agentAddress}:4444`]);
  });
});

describe('what is sent to an agent', () => {
  it('of a log: its options alone, with the certificate of the server', async () => {
    const query = 'follow=true&tailLines=5&sinceTime=2024-01-01T00:00:00Z&previous=false&junk=1';
    const { status, headers, body } = await server.ask('GET', `${pods}/web/log?${query}`, ['cookie: a=b', 'x-mine: 1']);
    assert.equal(status, 200, body);
    assert.equal(headers.get('content-type'), 'text/plain');
    assert.equal(body, 'log of /containerLogs/default/web/main');
    const call = server.agent.calls.at(-1);
    assert.equal(
      call?.url,
      '/containerLogs/default/web/main?follow=true&sinceTime=2024-01-01T00%3A00%3A00Z&tailLines=5',
    );
    assert.equal(call?.client, 'api');
    assert.deepEqual(Object.keys(call?.headers ?? {}).sort(), ['connection', 'host']);
  });

  it('of a log is counted, by whether the certificate of the agent counts', async () => {
    const counts = async () => {
      const { body } = await server.ask('GET', '/metrics');
      return ['enforce_tls', 'skip_tls_allowed'].map((usage) =>
        Number(
          body.match(new RegExp(`^kube_apiserver_pod_logs_insecure_backend_total{usage="${usage}"} (.*)$`, 'm'))?.[1] ??
            0,
        ),
      );
    };
    const [verified = 0, unverified = 0] = await counts();
    await server.ask('GET', `${pods}/web/log`);
    await server.ask('GET', `${pods}/web/log?insecureSkipTLSVerifyBackend=true`);
    assert.deepEqual(await counts(), [verified + 1, unverified + 1]);
  });

  it('of a proxied request: nothing that says who asks', async () => {
    server.agent.answer = (request, response) => {
      request.resume();
      response.writeHead(200, {
        'set-cookie': 'session=1',
        connection: 'close, x-hop',
        'x-hop': '1',
        'x-app': 'yes',
        'audit-id': 'forged',
      });
      response.end('hello');
    };
    const sent = [
      ...['cookie: a=b', 'x-remote-user: root', 'x-remote-extra-a: b', 'x-hop-by-hop: 1', 'te: trailers', 'x-app: yes'],
      ...['proxy-authorization: Basic eA==', 'keep-alive: 5', 'x-forwarded-for: 203.0.113.1'],
    ];
    const { status, headers, body } = await server.ask('GET', '/api/v1/nodes/n1/proxy/stats?a=b&a=%20c', [
      ...sent,
      'connection: x-hop-by-hop',
    ]);
    assert.deepEqual([status, body], [200, 'hello']);
    assert.equal(headers.get('x-app'), 'yes');
    for (const name of ['set-cookie', 'x-hop']) assert.equal(headers.has(name), false, name);
    assert.notEqual(headers.get('audit-id'), 'forged');
    const call = server.agent.calls.at(-1);
    assert.equal(call?.url, '/stats?a=b&a=%20c');
    const names = ['host', 'connection', 'x-app', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'];
    assert.deepEqual(Object.keys(call?.headers ?? {}).sort(), [...names, 'x-forwarded-uri'].sort());
    assert.equal(call?.headers['x-forwarded-for'], '203.0.113.1, 127.0.0.1');
    assert.equal(call?.headers['x-forwarded-uri'], '/api/v1/nodes/n1/proxy/stats');
  });

  const paths: readonly (readonly [target: string, opened: string, url: string])[] = [
    ['/api/v1/nodes/n1/proxy/', `${agentAddress}:4444`, '/'],
    ['/api/v1/nodes/n1:4444/proxy/a', `${agentAddress}:4444`, '/a'],
    ['/api/v1/nodes/portless/proxy/a', `${agentAddress}:10250`, '/a'],
    ['/api/v1/nodes/https:n1:9/proxy/a//b/', `${agentAddress}:9`, '/a//b/'],
    ['/api/v1/nodes/n1/proxy/a%2fb%20c?q', `${agentAddress}:4444`, '/a%2fb%20c?q'],
    [`${pods}/https:with-ip/proxy/x`.replace('with-ip', 'with-ip:'), '192.0.2.77:8080', '/x'],
    [`${pods}/https:with-ip:9443/proxy/`, '192.0.2.77:9443', '/'],
  ];
  for (const [target, opened, url] of paths) {
    it(`of ${target}: ${url} to ${opened}`, async () => {
      const { status, body } = await server.ask('GET', target);
      assert.equal(status, 200, body);
      assert.equal(server.opened.at(-1), opened);
      assert.equal(server.agent.calls.at(-1)?.url, url);
    });
  }

  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    it(`the body of ${method}, as it comes`, async () => {
      let received = '';
      server.agent.answer = (request, response) => {
        response.flushHeaders();
        request.on('data', (chunk: Buffer) => {
          received += chunk;
          response.write(chunk);
        });
        request.on('end', () => response.end());
      };
      const socket = await server.open();
      socket.write(
        ConnectedServer.text(method, '/api/v1/nodes/n1/proxy/x', ['transfer-encoding: chunked', 'connection: close']),
      );
      socket.write('5\r\nfirst\r\n');
      await until(() => received === 'first');
      const answer = readToClose(socket);
      socket.write('6\r\nsecond\r\n0\r\n\r\n');
      assert.equal(split(await answer).body.replaceAll(/\s/g, ''), 'firstsecond');
      assert.equal(server.agent.calls.at(-1)?.method, method);
    });
  }

  it('a proxy without a path is redirected to its root, as published', async () => {
    const { status, headers } = await server.ask('GET', '/api/v1/nodes/n1/proxy?a=b');
    assert.deepEqual([status, headers.get('location')], [301, '/api/v1/nodes/n1/proxy/?a=b']);
  });
});

describe('answers of an agent', () => {
  const generic = 'the server could not find the requested resource ( pods/log web)';
  const rows: readonly (readonly [status: number, body: string, answered: number, message: string])[] = [
    [400, 'bad container', 400, 'bad container'],
    [404, 'gone', 404, generic],
    [500, 'broken', 500, 'Internal error occurred: broken'],
    [503, 'later', 503, 'the server is currently unable to handle the request ( pods/log web)'],
    [403, 'not you', 403, 'not you ( pods/log web)'],
  ];
  for (const [status, body, answered, message] of rows) {
    it(`${status} of a log becomes a Status`, async () => {
      server.agent.answer = (_request, response) => response.writeHead(status).end(body);
      const answer = await server.ask('GET', `${pods}/web/log`);
      assert.deepEqual([answer.status, answer.message], [answered, message]);
    });
  }

  it('redirects are followed by nobody', async () => {
    server.agent.answer = (_request, response) =>
      response.writeHead(302, { location: 'https://192.0.2.99/secret' }).end();
    const before = server.opened.length;
    const log = await server.ask('GET', `${pods}/web/log`);
    assert.equal(log.status, 500);
    assert.match(
      log.message,
      /^Get "https:\/\/192\.0\.2\.10:4444\/containerLogs\/default\/web\/main": redirects forbidden$/,
    );
    const proxied = await server.ask('GET', '/api/v1/nodes/n1/proxy/x');
    assert.deepEqual([proxied.status, proxied.headers.get('location')], [302, 'https://192.0.2.99/secret']);
    assert.equal(server.opened.length, before + 2);
  });

  it('a redirect within the server behind stays below the proxy', async () => {
    for (const [location, shown] of [
      ['/login', '/api/v1/nodes/n1/proxy/login'],
      ['sub', '/api/v1/nodes/n1/proxy/a/sub'],
      [`https://${agentAddress}:4444/b?c`, '/api/v1/nodes/n1/proxy/b?c'],
    ] as const) {
      server.agent.answer = (_request, response) => response.writeHead(302, { location }).end();
      const { headers } = await server.ask('GET', '/api/v1/nodes/n1/proxy/a/b');
      assert.equal(headers.get('location'), shown);
    }
  });

  it('an agent that breaks off is seen as a cut answer, and one that says nothing as an error', async () => {
    server.agent.answer = (_request, response) => {
      response.write('begun');
      setImmediate(() => response.destroy());
    };
    const socket = await server.open();
    socket.write(ConnectedServer.text('GET', `${pods}/web/log`));
    const cut = await readToClose(socket);
    assert.match(cut, /begun/);
    assert.doesNotMatch(cut, /\r\n0\r\n/);
    server.agent.answer = (request) => request.destroy();
    const { status, message } = await server.ask('GET', '/api/v1/nodes/n1/proxy/x');
    assert.equal(status, 503);
    assert.match(message, /^error trying to reach service: /);
  });

  it('a header that is too large is an error', async () => {
    server.agent.answer = (_request, response) => response.writeHead(200, { 'x-large': 'x'.repeat(70_000) }).end();
    assert.equal((await server.ask('GET', '/api/v1/nodes/n1/proxy/x')).status, 503);
  });

  it('a log is read as fast as its client reads, and ends with him', async () => {
    let written = 0;
    let isOver = false;
    const block = Buffer.alloc(64 * 1024, 'x');
    server.agent.answer = (_request, response) => {
      const write = (): void => {
        do written += block.length;
        while (!response.destroyed && response.write(block));
      };
      response.on('drain', write);
      response.on('close', () => {
        isOver = true;
      });
      write();
    };
    const socket = await server.open();
    socket.pause();
    socket.write(ConnectedServer.text('GET', `${pods}/web/log?follow=1`));
    let last = -1;
    await until(() => {
      const isStill = written === last && written > 0;
      last = written;
      return isStill;
    });
    assert.ok(written < 64 * 1024 * 1024, 'a log was read without a reader');
    socket.destroy();
    await until(() => isOver);
  });
});

describe('upgrades', () => {
  /** Waits for the end of the other side, which a connection that nobody reads does not tell. */
  const gone = async (socket: TLSSocket): Promise<void> => {
    const ended = once(socket, 'end');
    socket.resume();
    await ended;
    socket.destroy();
  };

  /** A client whose connection was upgraded, and the agent's side of it. */
  async function upgraded(headers: readonly string[], method = 'POST', target = `${pods}/web/exec?command=a`) {
    const taken = Promise.withResolvers<TLSSocket>();
    server.agent.take = (request, socket) => {
      const { upgrade = '' } = request.headers;
      socket.allowHalfOpen = true;
      socket.on('error', () => {});
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${upgrade}\r\nX-Agent: 1\r\n\r\n`,
      );
      taken.resolve(socket);
    };
    const client = await server.open();
    client.write(ConnectedServer.text(method, target, headers));
    const [head] = (await once(client, 'data')) as [Buffer];
    server.agent.take = undefined;
    return { client, head: head.toString(), agent: await taken.promise };
  }

  for (const [what, headers, method] of [
    ['SPDY by POST', spdy, 'POST'],
    ['SPDY by GET', spdy, 'GET'],
    ['a WebSocket', webSocket, 'GET'],
  ] as const) {
    it(`${what}: bytes go both ways, each side may end first`, async () => {
      const { client, head, agent } = await upgraded(headers, method);
      assert.match(head, /^HTTP\/1\.1 101 /);
      assert.match(head, /^x-agent: 1\r$/im);
      client.write('ping');
      assert.equal(String((await once(agent, 'data'))[0]), 'ping');
      agent.write('pong');
      assert.equal(String((await once(client, 'data'))[0]), 'pong');
      client.end('last');
      assert.equal(String((await once(agent, 'data'))[0]), 'last');
      // The agent may still say something.
      agent.end('bye');
      assert.equal(String((await once(client, 'data'))[0]), 'bye');
      await once(client, 'close');
    });
  }

  it('the token of a WebSocket stays here, its other protocols go on', async () => {
    const token = Buffer.from(tokens.root).toString('base64url');
    const headers = webSocket.map((line) =>
      line.startsWith('sec-websocket-protocol')
        ? `sec-websocket-protocol: base64url.bearer.authorization.orch.io.${token}, v5.channel.k8s.io, v4.channel.k8s.io`
        : line,
    );
    const { client, agent } = await upgraded(headers, 'GET');
    const sent = server.agent.calls.at(-1)?.headers ?? {};
    assert.equal(sent['sec-websocket-protocol'], 'v5.channel.k8s.io, v4.channel.k8s.io');
    assert.equal(JSON.stringify(sent).includes(token), false);
    assert.equal(sent.authorization, undefined);
    client.destroy();
    await gone(agent);
  });

  it('a client that goes away ends the connection to the agent, and the other way round', async () => {
    const first = await upgraded(spdy);
    first.client.destroy();
    await gone(first.agent);
    const second = await upgraded(spdy);
    second.agent.destroy();
    await gone(second.client);
  });

  const failures: readonly (readonly [what: string, answer: string, status: number, message: RegExp])[] = [
    ['an error', 'HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno', 403, /^$/],
    [
      'no upgrade',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno',
      500,
      /^invalid upgrade response: status code 200$/,
    ],
    ['a redirect', 'HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n', 500, /status code 302$/],
    ['another protocol', 'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n', 500, /another protocol/],
    ['no HTTP', 'SSH-2.0-x\r\n', 500, /^error dialing backend: /],
    ['nothing', '', 500, /^error dialing backend: /],
  ];
  for (const [what, answer, status, message] of failures) {
    it(`an agent that answers ${what}: ${status}, and nothing stays open (CVE-2018-1002105)`, async () => {
      const closed = Promise.withResolvers<void>();
      server.agent.take = (_request, socket) => {
        socket.on('error', () => {});
        socket.on('close', () => closed.resolve());
        socket.resume();
        if (answer === '') socket.end();
        else socket.write(answer);
      };
      const client = await server.open();
      // What follows would reach the agent on a connection that somebody had left open.
      client.write(ConnectedServer.text('POST', `${pods}/web/exec?command=a`, spdy));
      const answered = split(await readToClose(client));
      server.agent.take = undefined;
      assert.equal(answered.status, status, answered.body);
      assert.match(answered.message, message);
      await closed.promise;
    });
  }
});

describe('who may', () => {
  it('nobody without a role, whatever the subresource', async () => {
    const before = server.opened.length;
    for (const [method, target, verb] of [
      ['GET', `${pods}/web/log`, 'get resource "pods/log"'],
      ['GET', `${pods}/web/exec`, 'get resource "pods/exec"'],
      ['POST', `${pods}/web/exec`, 'create resource "pods/exec"'],
      ['POST', `${pods}/web/attach`, 'create resource "pods/attach"'],
      ['POST', `${pods}/web/portforward`, 'create resource "pods/portforward"'],
      ['PUT', `${pods}/with-ip/proxy/x`, 'update resource "pods/proxy"'],
      ['PATCH', `${pods}/with-ip/proxy/x`, 'patch resource "pods/proxy"'],
      ['DELETE', '/api/v1/nodes/n1/proxy/x', 'delete resource "nodes/proxy"'],
      ['HEAD', '/api/v1/nodes/n1/proxy/x', ''],
    ] as const) {
      const { status, message } = await server.ask(
        method,
        target,
        method === 'GET' ? [] : ['content-length: 0'],
        tokens.jane,
      );
      assert.equal(status, 403, `${method} ${target}`);
      assert.ok(message.includes(verb), message);
    }
    assert.equal(server.opened.length, before);
  });
});

describe('admission', () => {
  const group = '/apis/admissionregistration.orch.io/v1';
  it('sees the options of a connection as its object', async () => {
    await server.create(`${group}/validatingadmissionpolicies`, {
      metadata: { name: 'no-rm' },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CONNECT'], resources: ['pods/exec'] }],
        },
        validations: [{ expression: "object.kind == 'PodExecOptions' && object.command[0] != 'rm'", message: 'no rm' }],
      },
    });
    await server.create(`${group}/validatingadmissionpolicybindings`, {
      metadata: { name: 'no-rm' },
      spec: { policyName: 'no-rm', validationActions: ['Deny'] },
    });
    const { status, message } = await server.ask('POST', `${pods}/web/exec?command=rm&command=x`, spdy);
    assert.equal(status, 422, message);
    assert.match(message, /^pods "web" is forbidden: ValidatingAdmissionPolicy 'no-rm' .*: no rm$/);
    // A policy about shells says nothing of ports.
    assert.equal((await server.ask('GET', `${pods}/web/portforward`)).message, 'Upgrade request required');
  });
});

describe('HTTP/2', () => {
  let session: ClientHttp2Session;
  before(() => {
    session = connectHttp2(`https://127.0.0.1:${server.port}`, { rejectUnauthorized: false });
  });
  after(() => session.destroy());
  const authorization = `Bearer ${tokens.root}`;

  it('has no upgrades', async () => {
    const stream = session.request({ ':method': 'POST', ':path': `${pods}/web/portforward`, authorization });
    stream.end();
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    assert.equal(headers[':status'], 400);
    stream.resume();
    await once(stream, 'end');
  });

  it('carries bodies no faster than they are read', async () => {
    let go = (): void => {};
    let received = 0;
    server.agent.answer = (request, response) => {
      go = () => {
        request.on('data', (chunk: Buffer) => {
          received += chunk.length;
        });
        request.on('end', () => response.end(String(received)));
      };
    };
    const body = Buffer.alloc(16 * 1024 * 1024, 'x');
    const calls = server.agent.calls.length;
    const stream = session.request({ ':method': 'PUT', ':path': '/api/v1/nodes/n1/proxy/x', authorization });
    let isSent = false;
    stream.end(body, () => {
      isSent = true;
    });
    await until(() => server.agent.calls.length > calls);
    assert.equal(isSent, false);
    go();
    let answer = '';
    for await (const chunk of stream) answer += chunk;
    assert.equal(answer, String(body.length));
  });
});

describe('metrics', () => {
  it('count connections as CONNECT', async () => {
    const { body } = await server.ask('GET', '/metrics');
    assert.match(body, /apiserver_request_total\{[^}]*verb="CONNECT"[^}]*subresource="log"/);
    assert.match(body, /apiserver_request_total\{[^}]*verb="CONNECT"[^}]*subresource="exec"/);
  });
});
