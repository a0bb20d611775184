import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import { until, within } from '../../src/base/waits-fixture.ts';
import { generateKey, keyToPem } from '../../src/pki/keys.ts';
import { Folder } from './authorization.ts';
import { Command } from './command.ts';

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** An API server without controllers, and controllers in programs of their own. */
export class ControllersApart implements AsyncDisposable {
  /** User of the controllers' program: it has nothing but the role that is made for it by default. */
  readonly program = 'system:orch-controller-manager';
  readonly folder = new Folder();
  /** Key that signs tokens of service accounts. */
  readonly signingKey: string;
  /** Files of the authority that signs certificates. */
  readonly dataDir: string;
  #server: Command | undefined;
  url = '';

  private constructor() {
    this.signingKey = this.folder.write('sign.key', keyToPem(generateKey()));
    this.dataDir = join(this.folder.path, 'data');
  }

  static async start(...flags: readonly string[]): Promise<ControllersApart> {
    const apart = new ControllersApart();
    await apart.#start(flags);
    return apart;
  }

  async #start(flags: readonly string[]): Promise<void> {
    const tokens = this.folder.tokens({ admin: ['system:masters'], [this.program]: [], first: [], second: [] });
    const issuer = [
      '--service-account-issuer=https://orch.test',
      `--service-account-signing-key-file=${this.signingKey}`,
    ];
    this.#server = new Command(
      'apiserver',
      ...[
        `--data-dir=${this.dataDir}`,
        '--secure-port=0',
        '--enable-bootstrap-token-auth',
        tokens,
        ...issuer,
        ...flags,
      ],
    );
    [, this.url = ''] = await this.server.prints(/"msg":"serving","v":0,"url":"([^"]+)"/);
    await until(async () => (await this.status('/readyz')) === 200, 'the server is ready');
  }

  get server(): Command {
    return this.#server ?? assert.fail('the server has not been started');
  }

  /** The certificate by which clients know the server. */
  get authority(): string {
    return join(this.dataDir, 'pki', 'apiserver.crt');
  }

  /** Sends a request, as the administrator where no token is given. */
  send(
    method: string,
    path: string,
    body?: unknown,
    type = 'application/json',
    token = 'token-of-admin',
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const headers = { authorization: `Bearer ${token}`, 'content-type': type };
    const options = { method, headers, agent: false, ca: readFileSync(this.authority) };
    const request = https.request(this.url + path, options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
    return within(promise, () => `no answer to ${method} ${path}`);
  }

  async status(path: string): Promise<number> {
    return (await this.send('GET', path)).status;
  }

  async get<T>(path: string): Promise<T> {
    const { status, text } = await this.send('GET', path);
    assert.equal(status, 200, text);
    return JSON.parse(text);
  }

  async make<T>(collection: string, object: unknown): Promise<T> {
    const { status, text } = await this.send('POST', collection, object);
    assert.equal(status, 201, text);
    return JSON.parse(text);
  }

  async patch(path: string, patch: unknown): Promise<void> {
    const { status, text } = await this.send('PATCH', path, patch, 'application/merge-patch+json');
    assert.equal(status, 200, text);
  }

  async remove(path: string): Promise<void> {
    const { status, text } = await this.send('DELETE', path);
    assert.ok(status === 200 || status === 202, text);
  }

  has(path: string): Promise<void> {
    return until(async () => (await this.status(path)) === 200, `there is no ${path}`);
  }

  gone(path: string): Promise<void> {
    return until(async () => (await this.status(path)) === 404, `${path} is still there`);
  }

  /** Writes a connection file. */
  kubeconfig(user = this.program): string {
    const cluster = { server: this.url, 'certificate-authority': this.authority };
    const content = {
      'current-context': 'c',
      contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
      clusters: [{ name: 'k', cluster }],
      users: [{ name: 'u', user: { token: `token-of-${user}` } }],
    };
    return this.folder.write(`${user.replaceAll(':', '-')}.kubeconfig`, JSON.stringify(content));
  }

  /** Starts controllers that all work as this user of the token file. */
  managerAs(user: 'first' | 'second', ...flags: readonly string[]): Command {
    return new Command('controller-manager', `--kubeconfig=${this.kubeconfig(user)}`, ...flags);
  }

  /** Starts controllers, each as its own service account. */
  manager(...flags: readonly string[]): Command {
    const accounts = '--use-service-account-credentials';
    return new Command('controller-manager', `--kubeconfig=${this.kubeconfig()}`, accounts, ...flags);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server?.[Symbol.asyncDispose]();
    this.folder[Symbol.dispose]();
  }
}
