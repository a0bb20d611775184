import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readToClose } from '../../src/http/socket-fixture.ts';
import { OrchProcess } from '../support/orch-process.ts';
import { http2Answer, openHttp2, openTls, requestText, withoutCertificate } from '../support/raw-client.ts';

/** `--cors-allowed-origins` and `--strict-transport-security-directives`, as a browser meets them. */

let server: OrchProcess;
/** Without the flags. */
let plain: OrchProcess;
before(async () => {
  [server, plain] = await Promise.all([
    OrchProcess.start({
      flags: [
        '--cors-allowed-origins=//example\\.com(:|$),^https://[a-z]+\\.pages\\.test$',
        '--cors-allowed-origins=^app:native$',
        '--strict-transport-security-directives=max-age=31536000,includeSubDomains',
        '--strict-transport-security-directives=preload',
      ],
    }),
    OrchProcess.start(),
  ]);
});
after(async () => {
  await server[Symbol.asyncDispose]();
  await plain[Symbol.asyncDispose]();
});

const transportSecurity = 'max-age=31536000; includeSubDomains; preload';

type Received = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What an answer says to browsers. */
const told = (headers: Received) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')));

const allowedTo = (origin: string) => ({
  'access-control-allow-origin': origin,
  'access-control-allow-methods': 'POST, GET, OPTIONS, PUT, DELETE, PATCH',
  'access-control-allow-headers':
    'Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since',
  'access-control-expose-headers': 'Date',
  'access-control-allow-credentials': 'true',
});

/** One request over each version of HTTP, without a client certificate. */
async function both(
  to: OrchProcess,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<readonly { readonly status: number; readonly headers: Received; readonly length: number }[]> {
  const first = await to.request(method, path, { headers, as: 'anonymous' });
  const session = await openHttp2(to, withoutCertificate);
  try {
    const second = await http2Answer(session, { ':method': method, ':path': path, ...headers });
    return [
      { status: first.status, headers: first.headers, length: first.bytes.length },
      { status: second.status, headers: second.headers, length: second.bytes.length },
    ];
  } finally {
    session.destroy();
  }
}

const allowed = [
  'https://example.com',
  'http://example.com',
  'https://example.com:8443',
  'https://some.pages.test',
  'app:native',
];
const strangers = [
  'https://example.com.attacker.net',
  'https://attackerexample.com',
  'https://an.example.com',
  'https://example-com',
  'http://some.pages.test',
  'https://some.pages.test:1',
  'https://a.b.pages.test',
  'null',
  '',
];
const bad = 'Bearer not-a-token';

describe('a page of an allowed origin', () => {
  for (const origin of allowed) {
    test(`${origin} is told so before anybody asks who it is`, async () => {
      for (const path of ['/api/v1/namespaces', '/version', '/nowhere', '/api/v1/namespaces/%2e%2e/pods']) {
        for (const more of [{}, { authorization: bad }]) {
          const headers = { origin, 'access-control-request-method': 'PUT', ...more };
          for (const answer of await both(server, 'OPTIONS', path, headers)) {
            assert.deepEqual([answer.status, answer.length], [204, 0]);
            assert.deepEqual(told(answer.headers), allowedTo(origin));
            assert.equal(answer.headers['strict-transport-security'], transportSecurity);
            assert.equal(answer.headers['content-length'], undefined);
          }
        }
      }
    });

    test(`${origin} may read every answer, and is nobody by that`, async () => {
      for (const [method, path, status, more] of [
        ['GET', '/version', 200, {}],
        ['GET', '/api/v1/secrets', 403, {}],
        ['POST', '/api/v1/namespaces', 403, {}],
        ['GET', '/version', 401, { authorization: bad }],
      ] as const) {
        for (const answer of await both(server, method, path, { origin, ...more })) {
          assert.equal(answer.status, status, `${method} ${path}`);
          assert.deepEqual(told(answer.headers), allowedTo(origin));
        }
      }
    });
  }

  test('may read lists and watches', async () => {
    const headers = { origin: 'https://example.com' };
    const list = await server.get('/api/v1/namespaces', { headers });
    assert.deepEqual([list.status, told(list.headers)], [200, allowedTo('https://example.com')]);
    const watch = await server.get('/api/v1/namespaces?watch=true&timeoutSeconds=1', { headers });
    assert.deepEqual([watch.status, told(watch.headers)], [200, allowedTo('https://example.com')]);
  });
});

describe('a page of another origin', () => {
  for (const origin of strangers) {
    test(`${JSON.stringify(origin)} is served as if the flag were not there`, async () => {
      for (const [method, path] of [
        ['OPTIONS', '/api/v1/namespaces'],
        ['GET', '/version'],
        ['GET', '/api/v1/secrets'],
      ] as const) {
        const expected = await both(plain, method, path, { origin });
        const answers = await both(server, method, path, { origin });
        assert.deepEqual(
          answers.map(({ status }) => status),
          expected.map(({ status }) => status),
        );
        assert.ok(expected.every(({ status }) => status !== 204));
        for (const { headers } of answers) assert.deepEqual(told(headers), {});
      }
    });
  }

  test('is not allowed by a second line', async () => {
    const socket = await openTls(server, withoutCertificate);
    socket.write(requestText('OPTIONS', '/api', 'origin: https://attacker.net', 'origin: https://example.com'));
    const answer = await readToClose(socket);
    assert.doesNotMatch(answer, /access-control/i);
    assert.doesNotMatch(answer, / 204 /);
  });
});

describe('caches', () => {
  const paths = ['/version', '/api/v1/secrets', '/nowhere', '/openapi/v3', '/api', '/readyz'];
  /** The names in all lines of Vary. */
  const varies = ({ vary }: Received): readonly string[] =>
    [vary ?? []]
      .flat()
      .join()
      .split(/\s*,\s*/);

  for (const origin of ['https://example.com', 'https://attacker.net', undefined]) {
    for (const encoding of ['identity', 'gzip']) {
      test(`keep what is for ${origin ?? 'no page'} apart (${encoding})`, async () => {
        const sent = { 'accept-encoding': encoding, ...(origin !== undefined && { origin }) };
        for (const path of paths) {
          for (const { headers } of await both(server, 'GET', path, sent)) {
            assert.ok(varies(headers).includes('origin'), `${path}: ${headers['vary']}`);
          }
          for (const { headers } of await both(plain, 'GET', path, sent)) {
            assert.ok(!varies(headers).includes('origin'), `${path}: ${headers['vary']}`);
          }
        }
      });
    }
  }

  test('still tell apart what varies by other fields', async () => {
    const { headers } = await server.get('/api', { headers: { origin: 'https://example.com' } });
    for (const name of ['origin', 'accept', 'accept-encoding']) assert.ok(varies(headers).includes(name), name);
  });
});

describe('Strict-Transport-Security', () => {
  const requests = [
    ['GET', '/version'],
    ['GET', '/api/v1/secrets'],
    ['GET', '/nowhere'],
    ['GET', '/readyz'],
  ] as const;
  test('is on every answer', async () => {
    for (const [method, path] of requests) {
      for (const { headers } of await both(server, method, path, {})) {
        assert.equal(headers['strict-transport-security'], transportSecurity);
      }
    }
    const socket = await openTls(server, withoutCertificate);
    socket.write('BREW /version HTTP/1.1\r\nhost: a\r\n\r\n');
    assert.match(await readToClose(socket), /^HTTP\/1\.1 400 .*strict-transport-security: max-age=31536000; inc/s);
  });

  test('is on none without the flag', async () => {
    for (const { headers } of await both(plain, 'GET', '/version', { origin: 'https://example.com' })) {
      assert.equal(headers['strict-transport-security'], undefined);
      assert.deepEqual(told(headers), {});
    }
  });
});
