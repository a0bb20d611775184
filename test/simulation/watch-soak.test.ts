import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Http2Client, PreparedRequest } from '../../bench/http2-client.ts';
import { OrchProcess } from '../support/orch-process.ts';

/**
 * 1,000 watchers and 25,000 events over real connections (`ORCH_SOAK_EVENTS=100000` for more). Every tenth watcher sees every event, the others those of one
 * namespace: none lost, none twice, all in order. One client stops reading: it costs the server bounded memory, and its
 * watch is ended.
 */
const events = Number(process.env['ORCH_SOAK_EVENTS'] ?? 25_000);
const watchers = 1_000;
const namespaces = 90;
const objectsPerNamespace = 10;
const streamsPerConnection = 50;
const writersPerConnection = 16;
const writeConnections = 4;

interface ConfigMap {
  readonly metadata: { readonly namespace: string; readonly name: string; readonly resourceVersion: string };
  readonly data: { readonly sequence: string };
}

/** Checks what one watcher sees, as it comes. */
class Observer {
  received = 0;
  #last = 0;
  #rest = '';
  readonly #sequences = new Map<string, number>();
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  take(chunk: Buffer): void {
    const lines = (this.#rest + chunk.toString('utf8')).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#event(JSON.parse(line));
    this.#changed();
  }

  #event({ type, object }: { readonly type: string; readonly object: ConfigMap }): void {
    assert.equal(type, 'MODIFIED', JSON.stringify(object));
    const { namespace, name, resourceVersion } = object.metadata;
    const revision = Number(resourceVersion);
    assert.ok(revision > this.#last, `event at ${revision} after ${this.#last}`);
    this.#last = revision;
    const key = `${namespace}/${name}`;
    const sequence = Number(object.data.sequence);
    assert.equal(sequence, (this.#sequences.get(key) ?? 0) + 1, `${key}: no event lost or repeated`);
    this.#sequences.set(key, sequence);
    this.received++;
  }
}

test(`watch soak: ${watchers} watchers, ${events} events`, { timeout: 15 * 60_000 }, async (t) => {
  await using server = await OrchProcess.start();
  const target = { port: server.port, ...server.credentials };
  await makeObjects(server);
  const { resourceVersion } = (
    await server.get<{ metadata: { resourceVersion: string } }>('/api/v1/configmaps?limit=1')
  ).json.metadata;
  const done = Promise.withResolvers<void>();
  const connections: Http2Client[] = [];
  const observers: { readonly observer: Observer; readonly expected: number }[] = [];
  const complete = (): void => {
    if (observers.every(({ observer, expected }) => observer.received >= expected)) done.resolve();
  };
  const perNamespace = Math.ceil(events / namespaces);
  for (let at = 0; at < watchers; at++) {
    if (at % streamsPerConnection === 0) connections.push(await Http2Client.connect(target));
    const everything = at % 10 === 0;
    const scope = everything ? '' : `namespaces/soak-${at % namespaces}/`;
    const expected = everything ? perNamespace * namespaces : perNamespace;
    const observer = new Observer(() => {
      if (observer.received >= expected) complete();
    });
    observers.push({ observer, expected });
    const path = `/api/v1/${scope}configmaps?watch=true&resourceVersion=${resourceVersion}&labelSelector=soak`;
    connections.at(-1)?.send(new PreparedRequest({ method: 'GET', path }), {
      data: (chunk) => {
        try {
          observer.take(chunk);
        } catch (error) {
          done.reject(error);
        }
      },
      end: () => done.reject(new Error('a watch ended')),
      failed: (why) => done.reject(new Error(`a watch failed: ${why}`)),
    });
  }
  const stalled = await Http2Client.connect(target);
  const ended = Promise.withResolvers<void>();
  const path = `/api/v1/configmaps?watch=true&resourceVersion=${resourceVersion}`;
  // The server ends the watch when its buffer is full, and the connection when nothing is taken from it for a minute.
  stalled.send(new PreparedRequest({ method: 'GET', path }), {
    end: () => ended.resolve(),
    failed: () => ended.resolve(),
  });
  await server.get('/readyz'); // the watches were asked for before this
  stalled.pause();
  const before = residentBytes(server.pid);
  await write(target, perNamespace);
  await done.promise;
  const after = residentBytes(server.pid);
  stalled.resume();
  await ended.promise;
  t.diagnostic(`${observers.reduce((sum, { observer }) => sum + observer.received, 0)} events delivered`);
  t.diagnostic(`resident memory: ${mebibytes(before)} before, ${mebibytes(after)} after`);
  assert.ok(after - before < 512 * 1024 * 1024, 'memory is bounded');
  for (const connection of [...connections, stalled]) connection.close();
});

async function makeObjects(server: OrchProcess): Promise<void> {
  for (let at = 0; at < namespaces; at++) {
    const namespace = `soak-${at}`;
    await server.post('/api/v1/namespaces', { metadata: { name: namespace } });
    const made = Array.from({ length: objectsPerNamespace }, (_, object) =>
      server.post(`/api/v1/namespaces/${namespace}/configmaps`, configMap(`object-${object}`, 0)),
    );
    for (const { status } of await Promise.all(made)) assert.equal(status, 201);
  }
}

const configMap = (name: string, sequence: number): unknown => ({
  metadata: { name, labels: { soak: 'yes' } },
  data: { sequence: String(sequence) },
});

/** Updates every object in turn, the same number of times for each namespace, many at once. */
async function write(target: Parameters<typeof Http2Client.connect>[0], perNamespace: number): Promise<void> {
  const clients = await Promise.all(Array.from({ length: writeConnections }, () => Http2Client.connect(target)));
  // One lane for each object, so that its updates follow one another.
  const lanes = Array.from({ length: namespaces * objectsPerNamespace }, (_, lane) => lane);
  const workers = clients.flatMap((client) =>
    Array.from({ length: writersPerConnection }, async () => {
      for (let lane = lanes.pop(); lane !== undefined; lane = lanes.pop()) await writeLane(client, lane, perNamespace);
    }),
  );
  await Promise.all(workers);
  for (const client of clients) client.close();
}

async function writeLane(client: Http2Client, lane: number, perNamespace: number): Promise<void> {
  const object = lane % objectsPerNamespace;
  const count = Math.floor(perNamespace / objectsPerNamespace) + (object < perNamespace % objectsPerNamespace ? 1 : 0);
  const name = `object-${object}`;
  const path = `/api/v1/namespaces/soak-${Math.floor(lane / objectsPerNamespace)}/configmaps/${name}`;
  for (let sequence = 1; sequence <= count; sequence++) {
    const body = Buffer.from(JSON.stringify(configMap(name, sequence)));
    const request = new PreparedRequest({ method: 'PUT', path, headers: { 'content-type': 'application/json' }, body });
    await new Promise<void>((resolve, reject) => {
      client.send(request, { end: () => resolve(), failed: (why) => reject(new Error(`a write failed: ${why}`)) });
    });
  }
}

function residentBytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kibibytes) * 1024;
}

const mebibytes = (bytes: number): string => `${Math.round(bytes / 1024 / 1024)} MiB`;
