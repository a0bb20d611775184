import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { silentLogger } from '../../src/base/logger.ts';
import { systemRandom } from '../../src/base/random.ts';
import { systemClock } from '../../src/base/time/clock.ts';
import { until, within } from '../../src/base/waits-fixture.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import type { Definition } from '../../src/kinds/apiextensions/custom-resource-definition.ts';
import { ensureAuthority, ensureIssued } from '../../src/pki/ca.ts';
import { definitionOf, definitionPath } from '../support/custom-resources.ts';
import { type ClientConnection, ThreadedServer } from '../support/threaded-server.ts';

/** Serving threads are one server to their clients, whichever of them answers. */

interface Item {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data: Readonly<Record<string, string>>;
}

const place = '/api/v1/namespaces/default/configmaps';
/** An authority in files of its own, and a client that it knows. */
function authorityIn(folder: string, name: string) {
  const files = (part: string) => ({ certificate: join(folder, `${part}.crt`), key: join(folder, `${part}.key`) });
  const context = { clock: systemClock, random: systemRandom, logger: silentLogger };
  const authority = ensureAuthority(files(name), name, context);
  const purpose = { subject: { commonName: `client-of-${name}` }, use: 'clientAuth' } as const;
  const client = ensureIssued(files(`client-of-${name}`), authority, purpose, context);
  return { pem: authority.certificatePem, client: { cert: client.certificatePem, key: client.keyPem } };
}
const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules: [{ level: 'Metadata' }] };

describe('two serving threads', () => {
  let server: ThreadedServer;
  let connections: readonly [ClientConnection, ...ClientConnection[]];
  const any = (at: number): ClientConnection => connections[at % connections.length] ?? connections[0];

  before(async () => {
    server = await ThreadedServer.start(2, (folder) => {
      writeFileSync(join(folder, 'clients.crt'), authorityIn(folder, 'first').pem);
      writeFileSync(join(folder, 'policy.yaml'), JSON.stringify(policy));
      return [
        `--client-ca-file=${join(folder, 'clients.crt')}`,
        `--audit-policy-file=${join(folder, 'policy.yaml')}`,
        `--audit-log-path=${join(folder, 'audit.log')}`,
        '--v=3',
      ];
    });
    connections = server.connectAll();
  });
  after(() => server[Symbol.asyncDispose]());

  test('what is acknowledged at one is read at the other, under load', async () => {
    const writer = async (name: string): Promise<void> => {
      for (let round = 0; round < 25; round++) {
        const [one, other] = [any(round * 7), any(round * 11 + 3)];
        const body = { metadata: { name }, data: { round: String(round) } };
        const written = await (round === 0
          ? one.request<Item>('POST', place, { body })
          : one.request<Item>('PUT', `${place}/${name}`, { body }));
        assert.ok(written.status < 300, written.text);
        const { resourceVersion } = written.json.metadata;
        const [read, listed] = await Promise.all([
          other.request<Item>('GET', `${place}/${name}`),
          any(round * 5 + 1).request<{ items: Item[] }>('GET', `${place}?fieldSelector=metadata.name%3D${name}`),
        ]);
        assert.equal(read.json.metadata?.resourceVersion, resourceVersion, read.text);
        assert.equal(listed.json.items[0]?.metadata.resourceVersion, resourceVersion);
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, at) => writer(`w${at}`)));
  });

  test('pages and watches go on at another thread', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `p${String(at).padStart(2, '0')}`);
    const body = (name: string) => ({ metadata: { name, labels: { page: 'yes' } } });
    for (const [at, name] of names.entries()) await any(at).request('POST', place, { body: body(name) });
    const found: string[] = [];
    let next = '';
    for (let page = 0; page === 0 || next !== ''; page++) {
      const query = `?limit=7&labelSelector=page%3Dyes&continue=${encodeURIComponent(next)}`;
      const { json } = await any(page * 3).request<{ items: Item[]; metadata: { continue?: string } }>(
        'GET',
        place + query,
      );
      found.push(...json.items.map(({ metadata }) => metadata.name));
      next = json.metadata.continue ?? '';
    }
    assert.deepEqual(found, names);

    const { json: list } = await any(1).request<{ metadata: Item['metadata'] }>('GET', place);
    let from = list.metadata.resourceVersion;
    const seen: string[] = [];
    for (let part = 0; part < 10; part++) {
      const { json } = await any(part * 3).request<Item>('POST', place, { body: body(`r${part}`) });
      const events = await watched(from, json.metadata.resourceVersion);
      seen.push(...events.map(({ metadata }) => metadata.name));
      from = events.at(-1)?.metadata.resourceVersion ?? from;
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 10 }, (_, part) => `r${part}`),
    );
  });

  /** The objects of a watch after one version, up to another. */
  function watched(from: string, until: string): Promise<readonly Item[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Item[]>();
    const path = `${place}?watch=true&labelSelector=page%3Dyes&resourceVersion=${from}`;
    const request = https.get({ host: '127.0.0.1', port: server.port, path, agent: false, ...server.credentials });
    const objects: Item[] = [];
    let rest = '';
    request.on('error', reject).on('response', (response) => {
      response.setEncoding('utf8').on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) objects.push((JSON.parse(line) as { object: Item }).object);
        if (objects.at(-1)?.metadata.resourceVersion === until) resolve(objects);
      });
    });
    return within(promise, 'no events').finally(() => request.destroy());
  }

  test('a custom resource is served by all once it is established', async () => {
    const definition = definitionOf({ group: 'threads.example', dialect: kubernetes });
    const made = await any(0).request('POST', definitionPath(undefined, kubernetes), { body: definition });
    assert.equal(made.status, 201, made.text);
    const path = definitionPath(definition.metadata.name, kubernetes);
    const isEstablished = async (): Promise<boolean> => {
      const { json } = await any(1).request<Definition>('GET', path);
      return json.status?.conditions?.find(({ type }) => type === 'Established')?.status === 'True';
    };
    await until(isEstablished);
    for (const connection of connections) {
      await until(async () => (await connection.request('GET', '/apis/threads.example/v1/widgets')).status === 200);
    }
  });

  /** The sum of the series that match. */
  const sumOf = (text: string, series: RegExp): number =>
    text
      .split('\n')
      .filter((line) => series.test(line))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  const ofLimitRanges = /^apiserver_request_total\{(?=.*verb="GET").*resource="limitranges".*\}/;

  test('metrics are those of all', async () => {
    const total = async (at: number): Promise<number> =>
      sumOf((await any(at).request('GET', '/metrics')).text, ofLimitRanges);
    const before = await total(0);
    const asked = connections.length * 3;
    for (let at = 0; at < asked; at++) await any(at).request('GET', '/api/v1/namespaces/default/limitranges/none');
    for (const at of connections.keys()) assert.equal(await total(at), before + asked);
    const { text } = await any(3).request('GET', '/metrics');
    assert.match(text, /^kubernetes_build_info\{.*\} 1$/m);
    assert.match(text, /^apiserver_storage_objects\{resource="namespaces"\} 4$/m);
    assert.equal(text.match(/^# TYPE apiserver_request_total /gm)?.length, 1);
  });

  test('results of health checks are those of all', async () => {
    const shown = async (at: number): Promise<readonly (string | undefined)[]> => {
      const { text } = await any(at).request('GET', '/metrics/slis');
      return [
        /^kubernetes_healthchecks_total\{name="ping",type="readyz",status="success"\} .*$/m,
        /^kubernetes_healthcheck\{name="ping",type="readyz"\} .*$/m,
      ].map((line) => line.exec(text)?.[0]);
    };
    for (const at of connections.keys()) await any(at).request('GET', '/readyz');
    const [count] = await shown(0);
    assert.equal(Number(count?.split(' ')[1]), connections.length);
    for (const at of connections.keys())
      assert.deepEqual(await shown(at), [count, 'kubernetes_healthcheck{name="ping",type="readyz"} 1']);
  });

  test('a file that has changed counts in all threads', async () => {
    const { pem, client } = authorityIn(server.dataDir, 'second');
    const strangers = Array.from({ length: 16 }, () => server.connect({ ca: server.credentials.ca, ...client }));
    const status = async (stranger: ClientConnection): Promise<number> =>
      (await stranger.request('GET', '/api/v1/namespaces')).status;
    for (const stranger of strangers) assert.equal(await status(stranger), 401);
    writeFileSync(join(server.dataDir, 'clients.crt'), pem);
    for (const stranger of strangers) await until(async () => (await status(stranger).catch(() => 0)) === 403);
  });

  test('a thread that hangs is replaced', async () => {
    const [worker] = server.workers;
    assert.ok(worker);
    const ended = once(worker, 'exit');
    server.hang(worker);
    await within(ended, 'the thread ends');
    assert.equal(server.lines('a serving thread hangs and is ended').length, 1);
    await server.serving(3);
    for (const connection of server.connectAll()) {
      assert.equal((await connection.request('GET', '/readyz')).status, 200);
    }
  });

  test('a thread that dies is replaced while the other serves, whichever leads', async () => {
    const scraper = server.connect();
    // A request that finds its thread gone is sent again, as scrapers do.
    const scrape = async (): Promise<string> => {
      let text: string | undefined;
      await until(async () => {
        text = await scraper.request('GET', '/metrics').then(
          (answer) => answer.text,
          () => undefined,
        );
        return text !== undefined;
      });
      return text ?? '';
    };
    for (const [round, started] of [3, 4].entries()) {
      const before = await scrape();
      // First the one that leads, then the one that took over.
      const worker = server.workers[round + 1];
      assert.ok(worker);
      const ended = once(worker, 'exit');
      await worker.terminate();
      await within(ended, 'the thread ends');
      const own = server.connect();
      // What was in the queue of the thread is lost with it; a client connects again.
      const made = async (): Promise<boolean> => {
        const body = { metadata: { name: `after-${round}` } };
        return own.request('POST', '/api/v1/namespaces', { body }).then(
          ({ status }) => status === 201 || status === 409,
          () => false,
        );
      };
      await until(made, 'the other thread serves');
      const account = `/api/v1/namespaces/after-${round}/serviceaccounts/default`;
      await until(
        async () => (await own.request('GET', account)).status === 200,
        'the controllers run at the thread that leads now',
      );
      await server.serving(started + 1);
      const after = await scrape();
      for (const series of [ofLimitRanges, /^registered_metrics_total\{/]) {
        assert.equal(sumOf(after, series), sumOf(before, series), String(series));
      }
      const cpu = /^process_cpu_seconds_total /;
      assert.ok(sumOf(after, cpu) <= process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6);
    }
    assert.equal(server.lines('a serving thread has ended and is replaced').length, 3);
    for (const connection of server.connectAll()) {
      assert.equal((await connection.request('GET', '/readyz')).status, 200);
    }
  });

  test('all drain, and whole lines of all are in one log and one audit log', async () => {
    const watches = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const request = https.get({
          host: '127.0.0.1',
          port: server.port,
          path: `${place}?watch=true`,
          agent: false,
          ...server.credentials,
        });
        const [response] = await once(request, 'response');
        response.resume();
        return response as NodeJS.ReadableStream & { readonly complete: boolean };
      }),
    );
    const ended = watches.map((watch) => once(watch, 'end'));
    assert.equal(await server.stop(), 0);
    await within(Promise.all(ended), 'watches end in order');
    for (const line of server.log.join('').trimEnd().split('\n')) assert.doesNotThrow(() => JSON.parse(line), line);
    const events = readFileSync(join(server.dataDir, 'audit.log'), 'utf8').trimEnd().split('\n');
    const written = events.filter((line) => {
      const { requestURI, stage } = JSON.parse(line) as { readonly requestURI: string; readonly stage: string };
      return stage === 'ResponseComplete' && requestURI === '/api/v1/namespaces/default/limitranges/none';
    });
    assert.equal(written.length, connections.length * 3, 'one event for each request, by the level of the policy');
  });
});
