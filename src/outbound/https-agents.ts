import https from 'node:https';
import type { Clock } from '../base/clock.ts';
import type { Closable } from '../base/disposable.ts';
import { limits } from '../base/limits.ts';
import type { Connection, KeyPairPem } from './connection.ts';
import { sameKeyPair } from './credentials/key-pair.ts';

/**
 * Connections to one server. A certificate is shown when a connection is made: when another one is to be shown, new
 * connections are made; on the old ones what is under way may end, for a while, and they are closed (spec section 5.6).
 */
export class HttpsAgents implements Closable {
  readonly #connection: Connection;
  readonly #clock: Clock;
  #agent: https.Agent | undefined;
  #shown: KeyPairPem | undefined;
  readonly #retired = new Map<https.Agent, Closable>();
  #closed = false;

  constructor(connection: Connection, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** The agent for a request with that certificate. Throws when all have been closed. */
  showing(certificate: KeyPairPem | undefined): https.Agent {
    if (this.#closed) throw new Error('the client has been closed');
    if (this.#agent && sameKeyPair(certificate, this.#shown)) return this.#agent;
    if (this.#agent) this.#retire(this.#agent);
    this.#shown = certificate;
    this.#agent = this.#create(certificate);
    return this.#agent;
  }

  #create(certificate: KeyPairPem | undefined): https.Agent {
    const { authorities, serverName, insecure } = this.#connection;
    return new https.Agent({
      keepAlive: true,
      rejectUnauthorized: !insecure,
      ...(authorities !== undefined && { ca: authorities }),
      ...(serverName !== undefined && { servername: serverName }),
      ...(certificate && { cert: certificate.certificate, key: certificate.key }),
    });
  }

  #retire(agent: https.Agent): void {
    // Connections are closed as they get free.
    agent.maxFreeSockets = 0;
    for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    const timer = this.#clock.after(limits.retiredConnectionsMs, () => {
      this.#retired.delete(agent);
      agent.destroy();
    });
    this.#retired.set(agent, timer);
  }

  close(): void {
    this.#closed = true;
    this.#agent?.destroy();
    for (const [agent, timer] of this.#retired) {
      timer.close();
      agent.destroy();
    }
    this.#retired.clear();
  }
}
