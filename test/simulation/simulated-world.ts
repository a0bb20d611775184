import assert from 'node:assert/strict';
import type { Files } from '../../src/base/files.ts';
import { seededRandom } from '../../src/base/random.ts';
import { ManualClock } from '../../src/base/time/clock.ts';
import { kinds } from '../../src/kinds/kinds.ts';
import type { Network, OutgoingRequest, OutgoingResponse } from '../../src/outbound/network.ts';
import type { ClientRequest } from '../../src/outbound/transport.ts';
import { jobsOf } from '../../src/server/serving/heavy/jobs.ts';
import { sameThread } from '../../src/server/serving/heavy/thread-fixture.ts';
import type { ApiServerConfig } from '../../src/server/wiring/config.ts';
import { type Environment, systemEnvironment } from '../../src/server/wiring/environment.ts';
import { memoryConfiguration } from '../support/server-configuration.ts';

/** A world for a whole server, for tests: no socket, no file, no timer and no thread of the machine. */

/** Who answers on the network. */
type Answering = (request: OutgoingRequest) => Promise<OutgoingResponse> | OutgoingResponse;

/** Where nobody is. */
const nobody: Answering = ({ server }) => assert.fail(`${server.hostname} is asked`);

export const respond = (body: unknown): OutgoingResponse => ({
  status: 200,
  headers: {},
  body: (async function* () {
    yield Buffer.from(JSON.stringify(body));
  })(),
  discard() {},
});

/** Never answers; rejects when the question ends. */
export const silence = ({ signal }: OutgoingRequest): Promise<never> =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));

/** Time that goes on by itself, a little with each look: long work is cut into slices, at the same places each time. */
class BusyClock extends ManualClock {
  #looks = 0;

  override monotonic(): number {
    this.#looks += 1;
    return super.monotonic() + this.#looks * 0.05;
  }
}

interface WorldOptions {
  readonly contents?: Readonly<Record<string, string>>;
  readonly answer?: Answering;
  readonly busy?: boolean;
}

export interface SimulatedWorld {
  readonly clock: ManualClock;
  readonly environment: Environment;
}

export function simulatedWorld(
  seed: number,
  { contents = {}, answer = nobody, busy = false }: WorldOptions,
): SimulatedWorld {
  const clock = busy ? new BusyClock() : new ManualClock();
  const network: Network = {
    connect: () => ({ send: async (request) => answer(request), retire() {}, close() {} }),
    resolve: () => Promise.reject(new Error('there are no names')),
    open: () => Promise.reject(new Error('there is nobody')),
  };
  const { openStore } = systemEnvironment;
  const files = filesOf(contents);
  const random = seededRandom(seed);
  const startHeavyWorker = sameThread(jobsOf(kinds));
  const openLog = () => assert.fail('a log is opened');
  const openTracer = () => assert.fail('traces are recorded');
  const connectKms = () => assert.fail('a plugin is asked');
  const outside = { files, network, hostname: 'here', variables: {}, openLog, openTracer, connectKms };
  return { clock, environment: { clock, random, ...outside, openStore, startHeavyWorker } };
}

function filesOf(contents: Readonly<Record<string, string>>): Files {
  const read = (path: string): Buffer => Buffer.from(contents[path] ?? assert.fail(`${path} is looked at`));
  return { read, stamp: (path) => String(read(path).length), isRegular: (path) => read(path).length > 0 };
}

export const admin = { username: 'root', uid: '', groups: ['system:masters'], extra: {} };

/** A request with a body of JSON, or of another media type. */
export const write = (
  method: ClientRequest['method'],
  target: string,
  body: unknown,
  contentType = 'application/json',
): ClientRequest => ({
  method,
  target,
  headers: { 'content-type': contentType },
  body: JSON.stringify(body),
});

export const get = (target: string): ClientRequest => ({ method: 'GET', target });

export async function textOf({ body }: { readonly body: AsyncIterable<Uint8Array> }): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const authority = 'https://webhook.example';

/** A connection file of a webhook, which is called as its name says. */
const connectionFile = (name: string): string =>
  JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: `${authority}/${name}` } }],
    users: [{ name: 'u', user: { token: 't' } }],
  });

/** A server whose tokens and permissions webhooks tell, with their connection files. */
export const askingConfig: ApiServerConfig = {
  ...memoryConfiguration,
  authentication: {
    ...memoryConfiguration.authentication,
    apiAudiences: ['api'],
    tokenWebhook: { file: '/tokens', version: 'v1', cacheMs: 1_000 },
  },
  authorization: {
    chain: {
      type: 'specs',
      specs: [
        {
          type: 'Webhook',
          name: 'hook',
          connection: { type: 'file', file: '/access' },
          version: 'v1',
          timeoutMs: 120_000,
          authorizedTtlMs: 1_000,
          unauthorizedTtlMs: 1_000,
          failurePolicy: 'NoOpinion',
        },
      ],
    },
  },
};
export const askingFiles = { '/tokens': connectionFile('tokens'), '/access': connectionFile('access') };
