import type { Http2Client } from './http2-client.ts';

/** Connections that slots share. */
export class Connections implements Disposable {
  readonly #clients: readonly Http2Client[];

  constructor(clients: readonly Http2Client[]) {
    this.#clients = clients;
  }

  at(slot: number): Http2Client | undefined {
    return this.#clients[slot % this.#clients.length];
  }

  [Symbol.dispose](): void {
    for (const client of this.#clients) client.close();
  }
}
