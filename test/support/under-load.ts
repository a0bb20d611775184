import assert from 'node:assert/strict';
import https from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { until, within } from '../../src/base/waits-fixture.ts';
import { type OrchProcess, WatchClient } from './orch-process.ts';
import { TcpBalancer } from './tcp-balancer.ts';

interface List {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
  readonly metadata: { readonly resourceVersion: string };
}

interface Load {
  /** Waits until twenty more writes were acknowledged. */
  moreWrites(): Promise<void>;
}

const maps = '/api/v1/namespaces/default/configmaps';
const writers = 4;
const attemptsMax = 200;
/** What says that a client may try again. */
const retriable: readonly number[] = [429, 503, 504];

/**
 * Clients behind a balancer over `servers` of one store write, read and watch while `happens` runs. What fails is tried again,
 * on a connection of its own; nothing may fail otherwise. In the end each acknowledged object was read, was watched once, and is in the
 * lists of all servers. Returns how many requests were tried again.
 */
export async function underLoad(
  servers: readonly OrchProcess[],
  happens: (load: Load) => Promise<void>,
): Promise<{ readonly retried: number }> {
  const [one] = servers;
  assert.ok(one);
  await using balancer = await TcpBalancer.start(servers.map(({ port }) => port));
  const stop = new AbortController();
  const made = new Set<string>();
  const { credentials } = one;
  const to = { port: balancer.port, ...credentials };
  let retried = 0;

  const send = async (request: SentRequest): Promise<Received> => {
    const what = `${request.method} ${request.path}`;
    for (let attempt = 1; ; attempt++) {
      const answer = await sendOnce(to, request).catch(String);
      if (typeof answer !== 'string' && !retriable.includes(answer.status)) {
        assert.notEqual(answer.status, 500, `${what}: ${answer.text}`);
        return answer;
      }
      retried++;
      assert.ok(
        attempt < attemptsMax,
        `${what} does not succeed: ${typeof answer === 'string' ? answer : answer.text}`,
      );
      await delay(20);
    }
  };
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; !stop.signal.aborted; n++) {
      const name = `load-${writer}-${n}`;
      const body = { metadata: { name, labels: { load: 'yes' } } };
      const created = await send({ method: 'POST', path: maps, body });
      // Its answer may have been lost with the server.
      assert.ok([201, 409].includes(created.status), created.text);
      made.add(name);
      const read = await send({ method: 'GET', path: `${maps}/${name}` });
      assert.equal(read.status, 200, `${name} was acknowledged: ${read.text}`);
    }
  };
  const { json } = await one.get<List>(`${maps}?limit=1`);
  const watched: string[] = [];
  let written = false;
  const isComplete = (): boolean => written && made.size <= watched.length;
  const follow = async (): Promise<void> => {
    let version = json.metadata.resourceVersion;
    while (!isComplete()) {
      const path = `${maps}?watch=1&labelSelector=load%3Dyes&allowWatchBookmarks=true&resourceVersion=${version}`;
      const watch = new WatchClient(path, { host: '127.0.0.1', ...to });
      let taken = 0;
      const take = (): void => {
        for (const { type, object } of watch.events.slice(taken)) {
          assert.notEqual(type, 'ERROR', JSON.stringify(object));
          version = object.metadata.resourceVersion;
          if (type === 'ADDED') watched.push(object.metadata.name);
        }
        taken = watch.events.length;
      };
      while (!watch.ended && !isComplete()) {
        await delay(5);
        take();
      }
      take();
      watch.close();
      await delay(5);
    }
  };
  const writing = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer))).finally(() => {
    written = true;
  });
  const ended = Promise.all([writing, follow()]);
  ended.catch(() => stop.abort());
  const moreWrites = async (): Promise<void> => {
    const from = made.size;
    await until(() => made.size >= from + 20 || stop.signal.aborted);
  };
  try {
    await happens({ moreWrites });
  } finally {
    stop.abort();
  }
  await within(ended, () => `clients do not end: ${made.size} made, ${watched.length} watched`);
  assert.deepEqual([...watched].sort(), [...made].sort(), 'each is seen once');
  for (const server of servers) {
    const { json: list } = await server.get<List>(`${maps}?labelSelector=load%3Dyes`);
    assert.deepEqual(list.items.map(({ metadata }) => metadata.name).sort(), [...made].sort());
  }
  return { retried };
}

interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
}

interface Received {
  readonly status: number;
  readonly text: string;
}

function sendOnce(to: https.RequestOptions, { method, path, body }: SentRequest): Promise<Received> {
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  const request = https.request({ ...to, host: '127.0.0.1', method, path, headers, agent: false }, (response) => {
    let text = '';
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      text += chunk;
    });
    response.on('error', reject);
    response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
  });
  request.on('error', reject);
  request.end(body && JSON.stringify(body));
  return within(promise, `no answer to ${method} ${path}`);
}
