import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Handler, peerName, TlsFixture } from '../../src/outbound/tls-fixture.ts';

/** A question that came. */
interface AuthorizationQuestion {
  readonly apiVersion: string;
  readonly kind: string;
  /** As it was sent. */
  readonly spec: {
    readonly user: string;
    readonly resourceAttributes?: Readonly<Record<string, unknown>>;
    readonly nonResourceAttributes?: { readonly path: string; readonly verb: string };
    readonly [field: string]: unknown;
  };
  readonly target: string;
  /** The common name of the certificate that the server showed. */
  readonly certificate: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

interface AuthorizationVerdict {
  readonly allowed?: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

/** A service on the loopback interface that says what users may do (spec section 5.7), over TLS. */
export class AuthorizationWebhook implements AsyncDisposable {
  readonly fixture = new TlsFixture();
  readonly questions: AuthorizationQuestion[] = [];
  /** `status` of the answer. */
  verdict: (question: AuthorizationQuestion) => AuthorizationVerdict | Promise<AuthorizationVerdict> = () => ({
    allowed: false,
  });
  /** Instead of an answer; the question has been read. */
  instead: ((question: AuthorizationQuestion, response: Parameters<Handler>[1]) => void) | undefined;

  static async start(): Promise<AuthorizationWebhook> {
    const webhook = new AuthorizationWebhook();
    await webhook.fixture.listen();
    webhook.fixture.handle = (...exchange) => void webhook.#answer(...exchange);
    return webhook;
  }

  async #answer(...[request, response]: Parameters<Handler>): Promise<void> {
    const { apiVersion, kind, spec } = JSON.parse(await text(request));
    const { url: target = '', headers } = request;
    const question = { apiVersion, kind, spec, target, headers, certificate: peerName(request) };
    this.questions.push(question);
    if (this.instead) return this.instead(question, response);
    const status = await this.verdict(question);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ apiVersion, kind: 'SubjectAccessReview', status }));
  }

  /** Flags of a server that asks this service each time, and RBAC where it has no opinion. */
  flagsBeforeRbac(): readonly string[] {
    return [
      '--authorization-mode=Webhook,RBAC',
      `--authorization-webhook-config-file=${this.connectionFile()}`,
      '--authorization-webhook-cache-authorized-ttl=0s',
      '--authorization-webhook-cache-unauthorized-ttl=0s',
    ];
  }

  /** What was asked about one user. */
  of(user: string): readonly AuthorizationQuestion[] {
    return this.questions.filter(({ spec }) => spec.user === user);
  }

  get port(): number {
    return this.fixture.port;
  }

  /** Writes a file that says how to reach it, and with which certificate; its path. */
  connectionFile(name = 'authorization.kubeconfig', more: object = {}): string {
    const client = this.fixture.issue('orch-asks');
    const file = join(this.fixture.directory, name);
    const base64 = (pem: string): string => Buffer.from(pem).toString('base64');
    const cluster = {
      server: `https://127.0.0.1:${this.fixture.port}/authorize?by=${name}`,
      'tls-server-name': 'api.example.com',
      'certificate-authority-data': base64(this.fixture.authorities),
      ...more,
    };
    const user = { 'client-certificate-data': base64(client.certificate), 'client-key-data': base64(client.key) };
    const document = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'webhook', cluster }],
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
