import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { until } from '../../src/base/waits-fixture.ts';
import { TlsFixture } from '../../src/outbound/tls-fixture.ts';
import { OrchProcess, type RequestOptions } from './orch-process.ts';

/** An event as a reader of the log sees it. */
export interface RecordedEvent {
  readonly kind: string;
  readonly apiVersion: string;
  readonly level: string;
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: { readonly username?: string; readonly groups?: readonly string[] };
  readonly impersonatedUser?: { readonly username: string; readonly groups?: readonly string[] };
  readonly sourceIPs: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly responseStatus?: { readonly code: number; readonly message?: string; readonly reason?: string };
  readonly requestObject?: Readonly<Record<string, unknown>>;
  readonly responseObject?: Readonly<Record<string, unknown>>;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A policy in the dialect `orch`. */
export const policyOf = (rules: readonly object[], more: object = {}): object => ({
  apiVersion: 'audit.orch.io/v1',
  kind: 'Policy',
  ...more,
  rules,
});

/** A server with an audit log. */
export class AuditedServer implements AsyncDisposable {
  readonly directory: string;
  readonly process: OrchProcess;

  private constructor(directory: string, process: OrchProcess) {
    this.directory = directory;
    this.process = process;
  }

  /** `flags` may name other places for events than `audit.log`. */
  static async start(policy: object, flags: readonly string[] = []): Promise<AuditedServer> {
    const directory = mkdtempSync(join(tmpdir(), 'orch-audit-'));
    writeFileSync(join(directory, 'policy.json'), JSON.stringify(policy));
    const places = flags.some((flag) => /^--audit-(log-path|webhook-config-file)=/.test(flag))
      ? []
      : [`--audit-log-path=${join(directory, 'audit.log')}`];
    try {
      const all = [`--audit-policy-file=${join(directory, 'policy.json')}`, ...places, ...flags];
      return new AuditedServer(directory, await OrchProcess.start({ flags: all }));
    } catch (error) {
      rmSync(directory, { recursive: true });
      throw error;
    }
  }

  /** Names of the log files, the current one last. */
  get files(): readonly string[] {
    return readdirSync(this.directory)
      .filter((name) => name.startsWith('audit'))
      .sort();
  }

  get log(): string {
    const path = join(this.directory, 'audit.log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  /** The events in the log now; of one request, or of all. */
  events(id?: string): readonly RecordedEvent[] {
    const lines = this.log.split('\n').slice(0, -1);
    const events = lines.map((line) => JSON.parse(line) as RecordedEvent);
    return id === undefined ? events : events.filter(({ auditID }) => auditID === id);
  }

  /** The events of a request, once the last of them is there. */
  async eventsUntil(id: string, stage: string): Promise<readonly RecordedEvent[]> {
    await until(
      () => this.events(id).some((event) => event.stage === stage),
      () => `no event ${stage} of ${id}: ${JSON.stringify(this.events(id))}`,
    );
    return this.events(id);
  }

  /** Sends a request under this id; gives its events when it is complete. */
  async ask(id: string, method: string, path: string, options: RequestOptions = {}): Promise<readonly RecordedEvent[]> {
    await this.process.request(method, path, { ...options, headers: { ...options.headers, 'audit-id': id } });
    return this.eventsUntil(id, 'ResponseComplete');
  }

  async metric(series: string): Promise<number> {
    const lines = (await this.process.get('/metrics')).text.split('\n');
    return Number(lines.find((line) => line.startsWith(`${series} `))?.split(' ')[1] ?? Number.NaN);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process[Symbol.asyncDispose]();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** A service on the loopback interface that takes audit events, over TLS. */
export class AuditWebhook implements AsyncDisposable {
  readonly fixture = new TlsFixture();
  /** The events of each request. */
  readonly batches: (readonly RecordedEvent[])[] = [];
  readonly kinds = new Set<string>();
  /** Answers a request; the batch counts as taken if this says so. */
  answer: (response: ServerResponse) => boolean | Promise<boolean> = (response) => {
    response.end('{}');
    return true;
  };
  requests = 0;

  static async start(): Promise<AuditWebhook> {
    const webhook = new AuditWebhook();
    await webhook.fixture.listen();
    webhook.fixture.handle = async (request, response) => {
      webhook.requests += 1;
      const { kind, apiVersion, items } = JSON.parse(await text(request));
      webhook.kinds.add(`${apiVersion} ${kind}`);
      if (await webhook.answer(response)) webhook.batches.push(items);
    };
    return webhook;
  }

  get events(): readonly RecordedEvent[] {
    return this.batches.flat();
  }

  /** Writes a file that says how to reach it; its path. */
  connectionFile(
    cluster: Readonly<Record<string, unknown>> = {},
    user: Readonly<Record<string, unknown>> = {},
  ): string {
    const file = join(this.fixture.directory, 'audit.kubeconfig');
    const server = `https://127.0.0.1:${this.fixture.port}/events`;
    const authorities = Buffer.from(this.fixture.authorities).toString('base64');
    const reached = { server, 'tls-server-name': 'api.example.com', 'certificate-authority-data': authorities };
    const document = {
      clusters: [{ name: 'webhook', cluster: { ...reached, ...cluster } }],
      users: [{ name: 'server', user }],
      contexts: [{ name: 'c', context: { cluster: 'webhook', user: 'server' } }],
      'current-context': 'c',
    };
    writeFileSync(file, JSON.stringify(document));
    return file;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.fixture.close();
  }
}
