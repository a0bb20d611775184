import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import type { ClientRequest } from '../../src/outbound/transport.ts';
import type { UserInfo } from '../../src/request/user-info.ts';
import type { ApiServerConfig } from '../../src/server/wiring/config.ts';
import { type ApiServer, createApiServer } from '../../src/server/wiring/create-api-server.ts';
import { type Environment, systemEnvironment } from '../../src/server/wiring/environment.ts';
import type { ServedScope } from '../../src/server/wiring/scopes/open-scopes.ts';
import { followingConfiguration } from './server-configuration.ts';

/** A server in the process of a test, and what its clients see. */

interface InProcessServer {
  readonly server: ApiServer;
  /** Its default scope. */
  readonly side: Side;
}

/** A server with everything that follows objects, started before the tests of the calling suite and stopped after them. */
export function serverForSuite(
  environment: Environment = systemEnvironment,
  config: Partial<ApiServerConfig> = {},
): InProcessServer {
  let running: (InProcessServer & { readonly directory: string }) | undefined;
  before(async () => {
    const directory = mkdtempSync(join(tmpdir(), 'orch-in-process-'));
    const server = await createApiServer({ ...followingConfiguration(directory), ...config }, environment);
    running = { server, side: new Side(server), directory };
    await server.start();
  });
  after(async () => {
    if (!running) return;
    await running.server.stop();
    rmSync(running.directory, { recursive: true });
  });
  const started = (): InProcessServer => running ?? assert.fail('the server has not started');
  return {
    get server() {
      return started().server;
    },
    get side() {
      return started().side;
    },
  };
}

export const root: UserInfo = { username: 'root', uid: '', groups: ['system:masters'], extra: {} };

/** What the tests look at in any answer. */
export interface Document {
  readonly type: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly continue: string;
  };
  readonly data: Readonly<Record<string, string>>;
  readonly items: readonly Document[];
  readonly object: Document;
  readonly groups: readonly { readonly name: string }[];
  readonly status: { readonly authenticated: boolean; readonly token: string };
  readonly versions?: readonly { readonly version: string }[];
  readonly inv1?: string;
  readonly inv3?: string;
  readonly reason: string;
  readonly message: string;
}

interface Answer {
  readonly status: number;
  readonly json: Document;
}

interface Sent extends Readonly<Record<string, unknown>> {
  readonly metadata: { readonly name: string };
}

/** A scope as its clients see it. */
export class Side {
  readonly #scope: Omit<ServedScope, 'close'>;

  constructor(scope: Omit<ServedScope, 'close'>) {
    this.#scope = scope;
  }

  get resources(): ServedScope['resources'] {
    return this.#scope.resources;
  }

  async send(method: ClientRequest['method'], target: string, body?: unknown, user = root): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    const request = body === undefined ? { method, target } : { method, target, headers, body: JSON.stringify(body) };
    const response = await this.#scope.transportAs(user).send(request);
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    return { status: response.status, json: JSON.parse(Buffer.concat(chunks).toString()) };
  }

  get(target: string, user?: UserInfo): Promise<Answer> {
    return this.send('GET', target, undefined, user);
  }

  async create(target: string, object: Sent): Promise<Document> {
    const { status, json } = await this.send('POST', target, object);
    assert.equal(status, 201, `${target} ${object.metadata.name}: ${json.message}`);
    return json;
  }

  /** Names in a list, with the namespace before them. */
  async names(target: string): Promise<readonly string[]> {
    const { status, json } = await this.get(target);
    assert.equal(status, 200, `${target}: ${json.message}`);
    return json.items.map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`);
  }

  async isGone(target: string): Promise<boolean> {
    return (await this.get(target)).status === 404;
  }

  /** Follows a watch until the signal aborts. `ended` is the last entry where the server ends it before. */
  async follow(target: string, signal: AbortSignal): Promise<string[]> {
    const response = await this.#scope.transportAs(root).send({ method: 'GET', target, signal });
    assert.equal(response.status, 200);
    const seen: string[] = [];
    void (async () => {
      let rest = '';
      for await (const chunk of response.body) {
        const lines = `${rest}${Buffer.from(chunk)}`.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) {
          const event = JSON.parse(line) as Document;
          seen.push(`${event.type} ${event.object.metadata.name}`);
        }
      }
      seen.push('ended');
    })().catch((error) => {
      if (!signal.aborted) throw error;
    });
    return seen;
  }
}
