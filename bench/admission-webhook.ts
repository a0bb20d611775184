import { once } from 'node:events';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { loopbackCertificate } from '../src/authn/oidc/provider-fixture.ts';

/** A service on the loopback interface that is asked about objects by HTTP/2, and allows all of them. */
export class AdmissionWebhook implements AsyncDisposable {
  readonly #server: Http2SecureServer;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #authority: string;
  questions = 0;
  connections = 0;

  private constructor() {
    const { cert, key } = loopbackCertificate();
    this.#authority = cert;
    this.#server = createSecureServer({ cert, key }, (request, response) => {
      this.questions += 1;
      void json(request.stream).then((review) => {
        const { apiVersion, kind, request: asked } = review as Review;
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify({ apiVersion, kind, response: { uid: asked.uid, allowed: true } }));
      });
    });
    this.#server.on('session', (session) => {
      this.connections += 1;
      this.#sessions.add(session);
      session.on('close', () => this.#sessions.delete(session));
    });
  }

  static async start(): Promise<AdmissionWebhook> {
    const webhook = new AdmissionWebhook();
    webhook.#server.listen(0, '127.0.0.1');
    await once(webhook.#server, 'listening');
    return webhook;
  }

  /** The `clientConfig` of its configuration. */
  get clientConfig(): Readonly<Record<string, string>> {
    const { port } = this.#server.address() as AddressInfo;
    return { url: `https://127.0.0.1:${port}/judge`, caBundle: Buffer.from(this.#authority).toString('base64') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: { readonly uid: string };
}
