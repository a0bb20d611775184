import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultPlugins } from '../../src/admission/plugins.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { orch } from '../../src/dialect/orch.ts';
import type { ClientRequest } from '../../src/outbound/transport.ts';
import type { UserInfo } from '../../src/request/user-info.ts';
import type { ApiServerConfig } from '../../src/server/wiring/config.ts';
import { defaultFeatures } from '../../src/server/wiring/features.ts';
import type { ServedScope } from '../../src/server/wiring/scopes/open-scopes.ts';

/** A server in the process of a test, and what its clients see. */

const issuer = 'https://issuer.test';

/** A server with all that looks at objects: accounts, nodes, roles, owners, namespaces. Its key is written to the directory. */
export function serverConfiguration(directory: string): ApiServerConfig {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const content = Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const path = join(directory, 'sign.pem');
  writeFileSync(path, content);
  return {
    dialect: orch,
    storage: { backend: 'memory' },
    requests: { inFlightMax: { reads: 400, writes: 200 }, timeoutMs: 60_000, watchMsMin: 1_800_000 },
    authentication: {
      staticTokens: [],
      apiAudiences: [issuer],
      bootstrapTokens: true,
      anonymous: false,
      anonymousGiven: true,
      serviceAccounts: {
        keyFiles: [],
        signingKeyFile: { path, content },
        issuers: [issuer],
        apiAudiences: [issuer],
        jwksUri: undefined,
        lookup: true,
        maxExpirationSeconds: undefined,
        extendExpiration: false,
        warnings: [],
      },
    },
    authorization: {
      chain: {
        type: 'specs',
        specs: [
          { type: 'Node', name: 'node' },
          { type: 'RBAC', name: 'rbac' },
        ],
      },
    },
    livezGraceMs: 0,
    shutdownDelayMs: 0,
    timesToLiveMs: { event: 3600_000 },
    features: defaultFeatures,
    admissionPlugins: defaultPlugins,
    controllers: { run: ['garbage-collector-controller', 'namespace-controller'], rootAuthority: '' },
    logger: silentLogger,
    accessLog: false,
  };
}

const root: UserInfo = { username: 'root', uid: '', groups: ['system:masters'], extra: {} };

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
