import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, beforeEach, describe, it } from 'node:test';
import { limits } from '../base/limits.ts';
import { ManualClock } from '../base/time/clock.ts';
import { httpTransport } from '../client/http-transport.ts';
import type { KeyPairPem } from './connection-config.ts';
import { PluginFixture } from './credentials/plugin-fixture.ts';
import { bareWorld, peerName, TlsFixture } from './tls-fixture.ts';
import type { Transport } from './transport.ts';

let server: TlsFixture;
let plugins: PluginFixture;
before(async () => {
  server = new TlsFixture();
  plugins = new PluginFixture();
  await server.listen();
});
after(async () => {
  plugins.close();
  await server.close();
});
beforeEach(() => {
  plugins.runs();
  seen.length = 0;
  server.connections = 0;
});

/** User and body of each request. */
const seen: string[] = [];

/** Answers 401 to all requests except those with these names in their header or certificate. */
function accept(...names: readonly string[]): void {
  server.handle = (request, response) => {
    const name = request.headers.authorization?.slice('Bearer '.length) ?? peerName(request) ?? '';
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      seen.push(`${name}: ${body}`);
      response.writeHead(names.includes(name) ? 200 : 401).end(`for ${name}`);
    });
  };
}

/** Sets the plugin's next response. */
function give(status: { readonly token?: string; readonly pair?: KeyPairPem }): void {
  const { token, pair } = status;
  const answer = { token, clientCertificateData: pair?.certificate, clientKeyData: pair?.key };
  writeFileSync(plugins.file('status'), JSON.stringify(answer));
}

async function withPlugin(use: (transport: Transport, clock: ManualClock) => Promise<void>): Promise<void> {
  const plugin = plugins.plugin(
    `const text = fs.readFileSync(${JSON.stringify(plugins.file('status'))}, 'utf8');` +
      "if (text === '') process.exit(3); answer(JSON.parse(text));",
  );
  const clock = new ManualClock();
  const connection = server.connection('/', { credential: { type: 'plugin', plugin } });
  const transport = httpTransport(connection, { ...bareWorld, clock });
  try {
    await use(transport, clock);
  } finally {
    transport.close();
    assert.equal(clock.pending, 0);
  }
}

async function post(transport: Transport, body: string): Promise<string> {
  const answer = await transport.send({ method: 'POST', target: '/', body });
  let text = `${answer.status} `;
  for await (const chunk of answer.body) text += Buffer.from(chunk);
  return text;
}

describe('requests with a credential from a plugin', () => {
  it('share one run, and are retried once with the next credential after a 401', async () => {
    accept('one');
    give({ token: 'one' });
    await withPlugin(async (transport) => {
      assert.deepEqual(await Promise.all([post(transport, 'a'), post(transport, 'b')]), ['200 for one', '200 for one']);
      assert.equal(plugins.runs(), 1);
      accept('two');
      give({ token: 'two' });
      assert.deepEqual(await Promise.all([post(transport, 'c'), post(transport, 'd')]), ['200 for two', '200 for two']);
      assert.equal(plugins.runs(), 1);
      assert.deepEqual(seen.toSorted(), ['one: a', 'one: b', 'one: c', 'one: d', 'two: c', 'two: d']);
    });
  });

  it('are retried at most once, and not with the same credential', async () => {
    accept();
    give({ token: 'one' });
    await withPlugin(async (transport) => {
      assert.equal(await post(transport, 'a'), '401 for one');
      assert.deepEqual([plugins.runs(), seen.length], [2, 1]);
      give({ token: 'two' });
      assert.equal(await post(transport, 'b'), '401 for two');
      assert.deepEqual(seen, ['one: a', 'one: b', 'two: b']);
    });
  });

  it('fail if the plugin does, also after a 401', async () => {
    accept();
    give({ token: 'one' });
    await withPlugin(async (transport) => {
      await post(transport, 'a');
      writeFileSync(plugins.file('status'), '');
      await assert.rejects(post(transport, 'b'), /^CredentialPluginError: .*it ended with exit code 3$/);
    });
    await withPlugin(async (transport) => {
      await assert.rejects(post(transport, 'c'), /it ended with exit code 3$/);
    });
    assert.equal(seen.length, 2);
  });

  it('present a new certificate on new connections only', async () => {
    const [one, two] = [server.issue('one'), server.issue('two')];
    accept('one');
    give({ pair: one });
    await withPlugin(async (transport, clock) => {
      await post(transport, 'a');
      await post(transport, 'b');
      assert.equal(server.connections, 1);
      accept('two');
      give({ pair: two });
      assert.equal(await post(transport, 'c'), '200 for two');
      await post(transport, 'd');
      assert.equal(server.connections, 2);
      clock.advance(limits.retiredConnectionsMs);
    });
    assert.deepEqual(seen, ['one: a', 'one: b', 'one: c', 'two: c', 'two: d']);
  });

  it('keep their connections when only the token changes', async () => {
    accept('one', 'two');
    const pair = server.issue('pair');
    give({ token: 'one', pair });
    await withPlugin(async (transport) => {
      await post(transport, 'a');
      accept('two');
      give({ token: 'two', pair });
      await post(transport, 'b');
      await post(transport, 'c');
    });
    assert.deepEqual(seen, ['one: a', 'one: b', 'two: b', 'two: c']);
    // The connection of the 401 is not reused, since its body was not read.
    assert.equal(server.connections, 2);
  });

  it('stop waiting on abort; the plugin continues for others', async () => {
    accept('one');
    give({ token: 'one' });
    await withPlugin(async (transport) => {
      const stop = new AbortController();
      const [first, second] = [
        transport.send({ method: 'GET', target: '/', signal: stop.signal }),
        transport.send({ method: 'GET', target: '/' }),
      ];
      stop.abort(new Error('enough'));
      await assert.rejects(first, /^Error: enough$/);
      const { status, body } = await second;
      for await (const _chunk of body);
      assert.deepEqual([status, plugins.runs()], [200, 1]);
    });
  });
});
