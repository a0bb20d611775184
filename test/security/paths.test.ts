import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readToClose } from '../../src/http/socket-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';
import {
  http2Status,
  openHttp2,
  openTls,
  requestText,
  sendRaw,
  statusOf,
  withoutCertificate,
} from '../support/raw-client.ts';

/** One path means one thing: to the authorizer, to the registry and to whatever stands before the server. */
let server: OrchProcess;
before(async () => {
  server = await OrchProcess.start({ flags: ['--token-auth-file=test/support/tokens.csv'] });
  const create = async (path: string, body: object): Promise<void> => {
    const answer = await server.post(path, body);
    assert.equal(answer.status, 201, answer.text);
  };
  await create('/api/v1/namespaces', { metadata: { name: 'other' } });
  await create('/api/v1/nodes', { metadata: { name: 'n1' } });
  await create('/api/v1/namespaces/default/configmaps', { metadata: { name: 'a' } });
  await create('/api/v1/namespaces/other/configmaps', { metadata: { name: 'hidden' } });
  await create('/api/v1/namespaces/default/secrets', { metadata: { name: 'a' }, stringData: { k: 'treasure' } });
  await create('/api/v1/namespaces/other/secrets', { metadata: { name: 'b' }, stringData: { k: 'treasure' } });
});
after(async () => {
  assert.equal((await server.get('/readyz')).status, 200, 'the server still serves');
  await server[Symbol.asyncDispose]();
});

const configMaps = '/api/v1/namespaces/default/configmaps';

describe('a path that two readers could take for different things names nothing', () => {
  /** As the admin, so that nothing but the path is what refuses them. */
  const targets: readonly (readonly [target: string, status: number])[] = [
    ['/api/v1/namespaces/../configmaps', 404],
    ['/api/v1/namespaces/./configmaps', 404],
    ['/api/v1/namespaces/%2e%2e/configmaps', 404],
    ['/api/v1/namespaces/%2E%2E/configmaps', 404],
    ['/api/v1/namespaces/.%2e/configmaps', 404],
    ['/api/v1/namespaces/%2e/configmaps', 404],
    ['/api/v1/namespaces//configmaps', 404],
    ['/api/v1//namespaces', 404],
    ['//api/v1/namespaces', 404],
    ['/api/v1/namespaces//', 404],
    ['/api/v1/namespaces/default/configmaps/../configmaps', 404],
    ['/api/v1/namespaces/other/../default/configmaps', 404],
    ['/api/v1/namespaces/default%2f/configmaps', 404],
    ['/api/v1/namespaces/default%2Fconfigmaps', 404],
    ['/api/v1/namespaces/default%2fconfigmaps%2fa', 404],
    ['/api%2fv1%2fnamespaces', 404],
    ['/api/v1/namespaces/default%00/configmaps', 404],
    ['/api/v1/namespaces/default/configmaps/a%00', 404],
    ['/api/v1/namespaces/default/configmaps/%zz', 400],
    ['/api/v1/namespaces/default/configmaps/%', 400],
    ['/api/v1/namespaces/default/configmaps/%c0%ae%c0%ae', 400],
    ['/api/v1/namespaces/default/configmaps/a;v=1', 404],
    ['/api/v1/namespaces\\default\\configmaps', 404],
    ['/API/v1/namespaces', 404],
    ['*', 400],
    ['api/v1/namespaces', 400],
    // Decoded once: this is the name `%61`, not the name `a` that is there.
    ['/api/v1/namespaces/default/configmaps/%2561', 404],
    ['/api/v1/namespaces/%2564efault/configmaps/a', 404],
    ['/api/v1/namespaces/%252e%252e/configmaps/a', 404],
  ];
  for (const [target, status] of targets) {
    test(target, async () => {
      const answer = await sendRaw(server, requestText('GET', target));
      assert.equal(statusOf(answer), status, answer);
      const session = await openHttp2(server);
      try {
        const second = await http2Status(session, { ':path': target });
        assert.ok(second === status || Number.isNaN(second), `HTTP/2 answers ${second}`);
      } finally {
        session.destroy();
      }
    });
  }

  test('and is served when it is percent-encoded once', async () => {
    for (const target of [
      '/api/v1/namespaces/default/configmaps/%61',
      '/%61pi/v1/name%73paces/d%65fault/configmaps/a',
      'https://elsewhere/api/v1/namespaces/default/configmaps/a',
    ]) {
      assert.equal(statusOf(await sendRaw(server, requestText('GET', target))), 200, target);
    }
  });
});

test('no way leads from a public path to one that is not', async () => {
  const beginnings = ['/version', '/healthz', '/livez', '/readyz', '/api', '/apis', '/openapi', '/openapi/v3'];
  const climbs = ['/..', '/%2e%2e', '/.%2e', '/..%2f', '/%2e%2e%2f', '/%252e%252e', '/..;', '//..', '/.', '\\..'];
  const goals = ['/metrics', '/api/v1/secrets', configMaps];
  for (const beginning of beginnings) {
    for (const climb of climbs) {
      const requests = goals.map(async (goal) => {
        const target = `${beginning}${climb}${goal}`;
        const status = statusOf(await sendRaw(server, requestText('GET', target), withoutCertificate));
        assert.ok(status >= 400 && status < 500, `${target}: ${status}`);
      });
      await Promise.all(requests);
    }
  }
});

test('what is authorized is what is served: encoded paths are refused like plain ones', async () => {
  for (const target of [configMaps, '/api/v1/namespaces/default/%63onfigmaps', '/%61pi/v1/secrets', '/%6detrics']) {
    const status = statusOf(await sendRaw(server, requestText('GET', target), withoutCertificate));
    assert.ok(status === 403 || status === 404, `${target}: ${status}`);
  }
});

describe('scopes (CVE-2019-11247)', () => {
  const wrong: readonly (readonly [method: string, path: string])[] = [
    ['GET', '/api/v1/namespaces/default/nodes'],
    ['GET', '/api/v1/namespaces/default/nodes?watch=1'],
    ['GET', '/api/v1/namespaces/default/nodes/n1'],
    ['GET', '/api/v1/namespaces/default/nodes/n1/status'],
    ['PUT', '/api/v1/namespaces/default/nodes/n1'],
    ['POST', '/api/v1/namespaces/default/nodes'],
    ['DELETE', '/api/v1/namespaces/default/nodes/n1'],
    ['DELETE', '/api/v1/namespaces/default/nodes'],
    ['GET', '/api/v1/namespaces/default/namespaces/other'],
    ['DELETE', '/api/v1/namespaces/default/namespaces/other'],
    ['GET', '/api/v1/configmaps/a'],
    ['PUT', '/api/v1/configmaps/a'],
    ['DELETE', '/api/v1/configmaps/a'],
    ['GET', '/api/v1/watch/configmaps/a'],
    ['GET', '/api/v1/watch/namespaces/default/nodes'],
    ['GET', '/api/v1/watch/namespaces/default/nodes/n1'],
    ['GET', '/api/v1/watch/namespaces/default/configmaps/a/status'],
    ['GET', '/api/v1/watch/nodes/n1/status'],
    ['GET', '/api/v1/watch/watch/nodes'],
    ['GET', '/api/v1/watch'],
    ['GET', '/apis/coordination.orch.io/v1/namespaces/default/nodes/n1'],
  ];
  for (const [method, path] of wrong) {
    test(`${method} ${path} is not found`, async () => {
      const body = method === 'POST' || method === 'PUT' ? { metadata: { name: 'n1' } } : undefined;
      const answer = await server.request(method, path, { body });
      assert.equal(answer.status, 404, answer.text);
    });
  }

  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    test(`${method} /api/v1/configmaps is not allowed`, async () => {
      const body = method === 'DELETE' ? undefined : { metadata: { name: 'n1' } };
      const answer = await server.request(method, '/api/v1/configmaps', { body });
      assert.deepEqual([answer.status, answer.headers['allow']], [405, 'GET, HEAD'], answer.text);
    });
  }

  test('and nothing of it happened', async () => {
    assert.equal((await server.get('/api/v1/nodes/n1')).status, 200);
    assert.equal((await server.get('/api/v1/namespaces/other')).status, 200);
    assert.equal((await server.get(`${configMaps}/a`)).status, 200);
  });
});

interface List {
  readonly items: readonly { readonly metadata: { readonly name: string; readonly namespace: string } }[];
}

describe('a list stays within its collection (CVE-2022-3162)', () => {
  const token = (fields: object): string => Buffer.from(JSON.stringify(fields)).toString('base64url');
  const hostile = ['../secrets/a', '../../secrets/default/a', 'a/../../secrets', '\u0000', ' ', '!', 'a%2f', '\uffff'];

  test('whatever a continue token names', async () => {
    const head = await server.get<List & { metadata: { resourceVersion: string } }>(`${configMaps}?limit=1`);
    const rv = Number(head.json.metadata.resourceVersion);
    for (const after of hostile) {
      for (const of of [
        '/core/configmaps/default/',
        '/core/secrets/default/',
        '/core/configmaps/',
        '/core/',
        '/',
        '',
      ]) {
        const answer = await server.get<Partial<List>>(`${configMaps}?continue=${token({ v: 1, rv, of, after })}`);
        assert.ok(answer.status === 400 || answer.status === 200, answer.text);
        assert.doesNotMatch(answer.text, /hidden|treasure|"Secret"|dHJlYXN1cmU/);
        if (of !== '/core/configmaps/default/') assert.equal(answer.status, 400, `${of}: ${answer.text}`);
      }
    }
  });

  test('whatever a field selector names', async () => {
    for (const selector of [
      'metadata.namespace=other',
      'metadata.namespace=other,metadata.name=hidden',
      'metadata.name=../other/hidden',
      'metadata.name=../../secrets/default/a',
      'metadata.namespace=../secrets/default',
      'metadata.namespace=',
    ]) {
      const query = `fieldSelector=${encodeURIComponent(selector)}`;
      const answer = await server.get<List>(`${configMaps}?${query}`);
      assert.deepEqual(answer.json.items, [], selector);
      const across = await server.get<List>(`/api/v1/configmaps?${query}`);
      assert.doesNotMatch(across.text, /treasure|"Secret"|dHJlYXN1cmU/);
    }
  });

  test('and a watch does, too', async () => {
    const watch = server.watch(`${configMaps}?watch=1&fieldSelector=metadata.namespace!%3Ddefault`);
    const all = server.watch(`${configMaps}?watch=1`);
    try {
      await watch.until(({ status }) => status === 200);
      await all.until(({ events }) => events.length >= 1);
      await server.post('/api/v1/namespaces/other/configmaps', { metadata: { name: 'later' } });
      await server.post(configMaps, { metadata: { name: 'last' } });
      await all.until(({ events }) => events.some(({ object }) => object.metadata.name === 'last'));
      assert.ok(all.events.every(({ object }) => object.metadata['namespace'] === 'default'));
      assert.deepEqual(watch.events, []);
    } finally {
      watch.close();
      all.close();
    }
  });
});

describe('a name is no path (CVE-2015-5305)', () => {
  const names = [
    '.',
    '..',
    '../x',
    'a/b',
    '/a',
    'a%2fb',
    '%2e%2e',
    'a\\b',
    'a\u0000b',
    'a\nb',
    '../../secrets/default/a',
  ];
  const collections = [
    configMaps,
    '/api/v1/namespaces',
    '/api/v1/nodes',
    '/api/v1/namespaces/default/secrets',
    '/api/v1/namespaces/default/serviceaccounts',
    '/apis/coordination.orch.io/v1/namespaces/default/leases',
  ];
  for (const collection of collections) {
    test(`of ${collection}`, async () => {
      for (const name of names) {
        const answer = await server.post(collection, { metadata: { name } });
        assert.equal(answer.status, 422, `${JSON.stringify(name)}: ${answer.text}`);
        const generated = await server.post(collection, { metadata: { generateName: `${name}/` } });
        assert.equal(generated.status, 422, `${JSON.stringify(name)}: ${generated.text}`);
      }
    });
  }

  test('of an Event, whose names are freer', async () => {
    const regarding = { kind: 'ConfigMap', namespace: 'default', name: 'a' };
    for (const name of ['.', '..', '../x', 'a/b', 'a%2fb', '%2e%2e']) {
      const event = { metadata: { name }, involvedObject: regarding };
      const answer = await server.post('/api/v1/namespaces/default/events', event);
      assert.equal(answer.status, 422, `${name}: ${answer.text}`);
    }
  });

  test('nor is a namespace, and the body does not overrule the path', async () => {
    for (const namespace of ['other', '../other', '..', 'default/x']) {
      const answer = await server.post(configMaps, { metadata: { name: 'stray', namespace } });
      assert.equal(answer.status, 400, `${namespace}: ${answer.text}`);
    }
    const put = await server.put(`${configMaps}/a`, { metadata: { name: 'hidden', namespace: 'default' } });
    assert.equal(put.status, 400, put.text);
  });
});

describe('nobody is sent elsewhere, and no connection becomes a tunnel', () => {
  const targets = [
    '/api/v1/nodes/n1/proxy/',
    '/api/v1/nodes/https:evil.example:443/proxy/metrics',
    '/api/v1/namespaces/default/pods/a/proxy/x',
    '/api/v1/namespaces/default/pods/a/exec?command=id',
    '/api/v1/namespaces/default/pods/a/attach',
    '/api/v1/namespaces/default/pods/a/portforward',
    '/api/v1/namespaces/default/pods/a/log?follow=1',
    '/api/v1/namespaces/default/services/https:a:443/proxy/',
    '/api/v1/proxy/nodes/n1/',
    '//evil.example/%2e%2e',
    'https://evil.example//evil.example/',
    '/\\evil.example/',
    '/readyz/',
    '/version/',
    '/api',
    '/api/v1/namespaces/default',
    '/',
  ];
  const upgrades = [
    [],
    ['upgrade: websocket', 'sec-websocket-version: 13', 'sec-websocket-key: eA=='],
    ['upgrade: SPDY/3.1'],
  ];
  // CVE-2018-1002105, CVE-2018-1002102, CVE-2020-8559, CVE-2020-8561, CVE-2022-3172: each began with a redirect or an upgrade.
  for (const target of targets) {
    test(target, async () => {
      for (const upgrade of upgrades) {
        for (const method of ['GET', 'POST']) {
          const connection = upgrade.length > 0 ? ['connection: upgrade'] : [];
          const text = requestText(method, target, ...connection, ...upgrade, 'content-length: 0');
          const answer = await sendRaw(server, text);
          const status = statusOf(answer);
          // As published, a node without an address is an error of the server.
          const isRefused = (status >= 400 && status < 500) || /no preferred addresses found/.test(answer);
          assert.ok(status === 200 || isRefused, `${method} ${target}: ${answer}`);
          assert.doesNotMatch(answer, /^(location|refresh):/im);
        }
      }
    });
  }

  test('who asked for an upgrade stays nobody else on that connection (CVE-2018-1002105)', async () => {
    const socket = await openTls(server, withoutCertificate);
    const first = ['GET /api HTTP/1.1', 'host: x', 'authorization: Bearer secret-of-jane'];
    socket.write(`${[...first, 'connection: upgrade', 'upgrade: websocket'].join('\r\n')}\r\n\r\n`);
    socket.write(requestText('GET', '/api'));
    const answers = [...(await readToClose(socket)).matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status);
    assert.deepEqual(answers, ['200', '403']);
  });

  test('CONNECT is refused, in both protocols', async () => {
    assert.match(await sendRaw(server, 'CONNECT evil.example:443 HTTP/1.1\r\nhost: evil.example:443\r\n\r\n'), / 405 /);
    const session = await openHttp2(server);
    try {
      const status = await http2Status(session, { ':method': 'CONNECT', ':authority': 'evil.example:443' });
      assert.ok(status === 405 || Number.isNaN(status), String(status));
    } finally {
      session.destroy();
    }
  });
});
