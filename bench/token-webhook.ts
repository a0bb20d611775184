import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { loopbackCertificate } from '../src/authn/oidc/provider-fixture.ts';

/** What the webhook knows of a token. */
interface KnownToken {
  readonly token: string;
  readonly username: string;
}

/** A service on the loopback interface that reviews tokens (spec section 5.6), and knows one. */
export class TokenWebhook implements AsyncDisposable {
  readonly #known: KnownToken;
  readonly #server: Server;
  readonly #authority: string;
  /** Questions that came. */
  questions = 0;

  private constructor(known: KnownToken) {
    const { cert, key } = loopbackCertificate();
    this.#known = known;
    this.#authority = cert;
    this.#server = createServer({ cert, key }, (request, response) => {
      this.questions += 1;
      void json(request).then((review) => response.end(JSON.stringify(this.#answer(review as Review))));
    });
  }

  static async start(known: KnownToken): Promise<TokenWebhook> {
    const webhook = new TokenWebhook(known);
    webhook.#server.listen(0, '127.0.0.1');
    await once(webhook.#server, 'listening');
    return webhook;
  }

  #answer({ apiVersion, kind, spec }: Review): unknown {
    const { token, username } = this.#known;
    const status = spec.token === token ? { authenticated: true, user: { username } } : { authenticated: false };
    return { apiVersion, kind, status };
  }

  /** A file that says how to reach it. */
  connectionFile(): string {
    const { port } = this.#server.address() as AddressInfo;
    const authority = Buffer.from(this.#authority).toString('base64');
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'webhook',
          cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': authority },
        },
      ],
      users: [{ name: 'server', user: {} }],
      contexts: [{ name: 'webhook', context: { cluster: 'webhook', user: 'server' } }],
      'current-context': 'webhook',
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: { readonly token: string };
}
