import { setImmediate as turn } from 'node:timers/promises';
import { type ManualClock, pause } from '../../../src/base/time/clock.ts';
import type { ClientRequest, ClientResponse } from '../../../src/outbound/transport.ts';
import type { UserInfo } from '../../../src/request/user-info.ts';
import { type ApiServer, createApiServer } from '../../../src/server/wiring/create-api-server.ts';
import { openMemoryStore } from '../../../src/store/drivers/memory/memory-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { memoryConfiguration } from '../../support/server-configuration.ts';
import type { Dice } from '../dice.ts';
import { simulatedWorld } from '../simulated-world.ts';
import type { Member, Servers } from './client.ts';
import { type FaultRates, FaultyStore, type StoreDefect } from './faulty-store.ts';

/** A server and its way to the store. */
class SimulatedMember implements Member {
  readonly server: ApiServer;
  readonly store: FaultyStore;
  readonly #end = new AbortController();

  constructor(server: ApiServer, store: FaultyStore) {
    this.server = server;
    this.store = store;
  }

  get gone(): AbortSignal {
    return this.#end.signal;
  }

  send(request: ClientRequest, user: UserInfo): Promise<ClientResponse> {
    return this.server.transportAs(user).send(request);
  }

  kill(): void {
    this.#end.abort();
    this.store.crash();
  }
}

interface ClusterOptions {
  readonly seed: number;
  readonly dice: Dice;
  readonly servers: number;
  readonly rates: FaultRates;
  readonly defect?: StoreDefect | undefined;
}

/** Turns of the event loop between two steps of the time: what a step sets going is done by then. */
const turnsPerStep = 4;
const stepMs = 1;
/** Longest way to the store. */
const delayMsMax = 6;
const stepsMax = 200_000;

/** Several servers on one store, in one process, under a time that goes on when nothing is left to do. */
export class Cluster implements Servers, AsyncDisposable {
  /** Writes of a batch share a revision, as in etcd. */
  readonly store: Store = openMemoryStore({ batchRevisions: 'shared' });
  readonly #options: ClusterOptions;
  readonly #clock: ManualClock;
  readonly #environment: ReturnType<typeof simulatedWorld>['environment'];
  readonly #members: SimulatedMember[] = [];
  readonly #stopping: Promise<unknown>[] = [];

  private constructor(options: ClusterOptions) {
    this.#options = options;
    const { clock, environment } = simulatedWorld(options.seed, {});
    this.#clock = clock;
    this.#environment = environment;
  }

  /** Faults begin when all are ready. */
  static async start(options: ClusterOptions): Promise<Cluster> {
    const cluster = new Cluster(options);
    for (let index = 0; index < options.servers; index++) {
      cluster.#members.push(await cluster.until(cluster.#startMember()));
    }
    return cluster;
  }

  get members(): readonly Member[] {
    return this.#members;
  }

  /** Lets the time go on until the promise is settled. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    promise.then(settle, settle);
    for (let step = 0; !isSettled; step++) {
      if (step > stepsMax) throw new Error('the simulation does not come to an end');
      for (let count = 0; count < turnsPerStep && !isSettled; count++) await turn();
      this.#clock.advance(stepMs);
    }
    return promise;
  }

  /** Time that goes by, while somebody waits with `until`. */
  pause(ms: number): Promise<void> {
    return pause(this.#clock, ms);
  }

  /** Kills a server in the middle of what it does, and starts another one in its place. */
  async replace(index: number): Promise<void> {
    const killed = this.#members[index];
    if (!killed) throw new RangeError(`no server ${index}`);
    killed.kill();
    this.#stopping.push(killed.server.stop().catch(() => {}));
    this.#members[index] = await this.#startMember();
  }

  async #startMember(): Promise<SimulatedMember> {
    const { dice, rates, defect } = this.#options;
    const store = new FaultyStore(this.store, { clock: this.#clock, dice, delayMsMax });
    const environment = { ...this.#environment, openStore: async () => store };
    const server = await createApiServer(memoryConfiguration, environment);
    await server.start();
    store.begin({ rates, defect });
    return new SimulatedMember(server, store);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { server, store } of this.#members) {
      store.crash();
      this.#stopping.push(server.stop().catch(() => {}));
    }
    await this.until(Promise.all(this.#stopping));
    await this.store.close();
  }
}
