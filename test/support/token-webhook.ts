import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Handler, peerName, TlsFixture } from '../../src/outbound/tls-fixture.ts';

/** A question that came. */
interface Question {
  readonly apiVersion: string;
  readonly token: string;
  readonly audiences: readonly string[] | undefined;
  readonly authorization: string | undefined;
  /** The common name of the certificate that the server showed. */
  readonly certificate: string | undefined;
}

type Status = Readonly<Record<string, unknown>>;

/** A service on the loopback interface that reviews tokens (spec section 5.6), over TLS. */
export class TokenWebhook implements AsyncDisposable {
  readonly fixture = new TlsFixture();
  readonly questions: Question[] = [];
  /** `status` of the answer. */
  review: (question: Question) => Status | Promise<Status> = () => ({ authenticated: false });
  /** Instead of an answer; true where it has taken the request. */
  instead: ((...exchange: Parameters<Handler>) => boolean) | undefined;

  static async start(): Promise<TokenWebhook> {
    const webhook = new TokenWebhook();
    await webhook.fixture.listen();
    webhook.fixture.handle = (request, response) => {
      if (webhook.instead?.(request, response)) return;
      void webhook.#answer(request, response);
    };
    return webhook;
  }

  async #answer(...[request, response]: Parameters<Handler>): Promise<void> {
    const { apiVersion, spec } = JSON.parse(await text(request));
    const question = {
      apiVersion,
      token: spec.token,
      audiences: spec.audiences,
      authorization: request.headers.authorization,
      certificate: peerName(request),
    };
    this.questions.push(question);
    const status = await this.review(question);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ apiVersion, kind: 'TokenReview', status }));
  }

  /** Writes a file that says how to reach it, and as whom; its path. */
  connectionFile(user: Readonly<Record<string, unknown>> = {}, name = 'webhook.kubeconfig'): string {
    const file = join(this.fixture.directory, name);
    const cluster = {
      server: `https://127.0.0.1:${this.fixture.port}/review?of=tokens`,
      'tls-server-name': 'api.example.com',
      'certificate-authority-data': Buffer.from(this.fixture.authorities).toString('base64'),
    };
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
