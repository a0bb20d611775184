import { type OpenStream, ScriptedServer } from '../../client/scripted-server-fixture.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ClientRequest, ClientResponse, Transport } from '../../outbound/transport.ts';

/** Test support: a server with these requests, an open watch, and scripted answers to writes. */
export class ScriptedWrites implements Transport {
  readonly #reads = new ScriptedServer();
  readonly #writes = new ScriptedServer();
  readonly watch: OpenStream;

  constructor(items: readonly ApiObject[]) {
    this.#reads.answer(200, { metadata: { resourceVersion: '1' }, items });
    this.watch = this.#reads.stream();
  }

  send(request: ClientRequest): Promise<ClientResponse> {
    return (request.method === 'GET' ? this.#reads : this.#writes).send(request);
  }

  get writes(): readonly string[] {
    return this.#writes.requests;
  }

  /** Bodies of the writes. */
  get bodies(): readonly unknown[] {
    return this.#writes.sent.map(({ body = '{}' }) => JSON.parse(Buffer.from(body).toString()));
  }

  answerWrite(status: number, body: unknown): void {
    this.#writes.answer(status, body);
  }
}
