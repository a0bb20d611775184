import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { silentLogger } from '../base/logger.ts';
import { type Clock, ManualClock } from '../base/time/clock.ts';
import { parseTime } from '../meta/time.ts';
import type { ClientRequest, ClientResponse, Transport } from '../outbound/transport.ts';
import { ApiClient } from './api-client.ts';
import { KeptEvents } from './event-recorder-fixture.ts';
import { defaultTiming, leadOnce } from './leader-election.ts';

interface Lease {
  metadata: { name: string; resourceVersion: string };
  spec: {
    holderIdentity: string;
    leaseDurationSeconds: number;
    leaseTransitions: number;
    acquireTime: string;
    renewTime: string;
  };
}

/** A server that holds one lease, with optimistic concurrency. */
class LeaseServer {
  lease: Lease | undefined;
  #version = 0;

  handle({ method, body }: ClientRequest): { readonly status: number; readonly value: unknown } {
    const refuse = (code: number, reason: string) => ({
      status: code,
      value: { kind: 'Status', status: 'Failure', code, reason, message: reason },
    });
    if (method === 'GET') return this.lease ? this.#show() : refuse(404, 'NotFound');
    const sent: Lease = JSON.parse(String(body));
    if (method === 'POST' && this.lease) return refuse(409, 'AlreadyExists');
    if (method === 'PUT' && !this.lease) return refuse(404, 'NotFound');
    if (method === 'PUT' && sent.metadata.resourceVersion !== this.lease?.metadata.resourceVersion) {
      return refuse(409, 'Conflict');
    }
    this.lease = { ...sent, metadata: { ...sent.metadata, resourceVersion: String(++this.#version) } };
    return this.#show();
  }

  #show() {
    return { status: 200, value: structuredClone(this.lease) };
  }
}

/** What happens to one request. */
interface Fate {
  /** Latency to the server and back, in milliseconds. */
  readonly there: number;
  readonly back: number;
  /**
   * `undone`, `unknown`: the server answers that the outcome is unknown; the write has not been done (`undone`) or has been
   * done (`unknown`).
   */
  readonly lost: 'no' | 'request' | 'answer' | 'undone' | 'unknown';
}

const unknownOutcome = {
  status: 504,
  value: { kind: 'Status', status: 'Failure', code: 504, reason: 'Timeout', message: 'the outcome is unknown' },
};

/** The network between a candidate and the server. */
class Network implements Transport {
  readonly #server: LeaseServer;
  readonly #clock: ManualClock;
  fate: (request: ClientRequest) => Fate = () => untroubled;

  constructor(server: LeaseServer, clock: ManualClock) {
    this.#server = server;
    this.#clock = clock;
  }

  send(request: ClientRequest): Promise<ClientResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<ClientResponse>();
    const { there, back, lost } = this.fate(request);
    const { signal } = request;
    if (signal?.aborted) return Promise.reject(signal.reason);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (lost !== 'request') {
      // An aborted request may still arrive.
      this.#clock.after(there, () => {
        const inDoubt = request.method !== 'GET' && (lost === 'undone' || lost === 'unknown');
        const answer = lost === 'undone' && inDoubt ? unknownOutcome : this.#server.handle(request);
        if (lost === 'answer') return;
        const { status, value } = inDoubt ? unknownOutcome : answer;
        this.#clock.after(back, () => resolve({ status, body: text(JSON.stringify(value)) }));
      });
    }
    return promise;
  }
}

async function* text(value: string): AsyncIterableIterator<Uint8Array> {
  yield Buffer.from(value);
}

/** Candidates that run for election repeatedly. */
class Election {
  readonly clock = new ManualClock();
  readonly server = new LeaseServer();
  readonly leaders = new Set<string>();
  /** Changes of leadership: `+a`, `-a`. */
  readonly log: string[] = [];
  readonly events = new KeptEvents();
  /** Who is reported to lead, as metrics and health checks are told. */
  readonly reported = new Set<string>();
  /** The check of whoever leads. */
  requireLease = (): void => assert.fail('nobody has led');
  readonly #violations: string[] = [];
  readonly #running: Promise<void>[] = [];
  readonly #stops = new Map<string, AbortController>();

  stand(identity: string, clock: Clock = this.clock): Network {
    const network = new Network(this.server, this.clock);
    const stop = new AbortController();
    this.#stops.set(identity, stop);
    const options = {
      client: new ApiClient(network, identity),
      clock,
      logger: silentLogger,
      events: this.events,
      leads: (isLeading: boolean) => void (isLeading ? this.reported.add(identity) : this.reported.delete(identity)),
      namespace: 'system',
      apiVersion: 'coordination.example.com/v1',
      name: 'manager',
      identity,
      timing: defaultTiming,
      signal: stop.signal,
    };
    const run = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        await leadOnce(options, (term, requireLease) => {
          this.requireLease = requireLease;
          return this.#lead(identity, term);
        });
      }
    };
    this.#running.push(run());
    return network;
  }

  #lead(identity: string, term: AbortSignal): Promise<void> {
    this.leaders.add(identity);
    this.log.push(`+${identity}`);
    if (this.leaders.size > 1) this.#violations.push([...this.leaders].join(' and '));
    return new Promise((resolve) => {
      const over = (): void => {
        this.leaders.delete(identity);
        this.log.push(`-${identity}`);
        resolve();
      };
      if (term.aborted) over();
      else term.addEventListener('abort', over, { once: true });
    });
  }

  stop(identity: string): void {
    this.#stops.get(identity)?.abort(new Error('stopped'));
  }

  async pass(ms: number, stepMs = 50): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(stepMs);
      await turn();
      await turn();
    }
  }

  async end(): Promise<void> {
    for (const identity of this.#stops.keys()) this.stop(identity);
    // Longer than a lease is given back to a server that does not answer.
    await this.pass(15_000);
    await Promise.all(this.#running);
    assert.equal(this.leaders.size, 0);
    assert.deepEqual(this.#violations, [], 'two lead');
  }
}

const untroubled: Fate = { there: 0, back: 0, lost: 'no' };
const unreachable = (): Fate => ({ there: 0, back: 0, lost: 'request' });

describe('leader election', () => {
  it('the first candidate acquires the lease at once, the second waits', async () => {
    const election = new Election();
    election.stand('a');
    await election.pass(100);
    election.stand('b');
    await election.pass(60_000);
    assert.deepEqual(election.log, ['+a']);
    const { spec } = election.server.lease ?? assert.fail('there is a lease');
    assert.deepEqual([spec.holderIdentity, spec.leaseTransitions], ['a', 0]);
    assert.ok((parseTime(spec.renewTime) ?? 0) - (parseTime(spec.acquireTime) ?? 0) > 55_000);
    await election.end();
  });

  it('a leader that stops releases the lease', async () => {
    const election = new Election();
    election.stand('a');
    await election.pass(100);
    election.stand('b');
    await election.pass(5_000);
    election.stop('a');
    await election.pass(2_500);
    assert.deepEqual(election.log, ['+a', '-a', '+b']);
    assert.equal(election.server.lease?.spec.leaseTransitions, 1);
    await election.end();
    const { leaseTransitions, holderIdentity, leaseDurationSeconds, acquireTime, renewTime } =
      election.server.lease?.spec ?? {};
    assert.deepEqual([leaseTransitions, holderIdentity, leaseDurationSeconds], [1, '', 1]);
    assert.equal(acquireTime, renewTime);
  });

  it('a leader whose last renewal was done, but not answered, releases the lease all the same', async () => {
    const election = new Election();
    const network = election.stand('a');
    await election.pass(100);
    // Into the renewal: it is read and written, and no answer comes.
    network.fate = ({ method }) => ({ ...untroubled, lost: method === 'PUT' ? 'answer' : 'no' });
    await election.pass(2_500);
    election.stop('a');
    network.fate = () => untroubled;
    await election.pass(2_000);
    assert.equal(election.server.lease?.spec.holderIdentity, '');
    await election.end();
  });

  it('each change of leadership is an Event of the lease', async () => {
    const election = new Election();
    election.stand('a');
    await election.pass(100);
    election.stand('b');
    election.stop('a');
    await election.pass(2_500);
    const about = { apiVersion: 'coordination.example.com/v1', kind: 'Lease', namespace: 'system', name: 'manager' };
    assert.deepEqual(
      election.events.events,
      ['a became leader', 'a stopped leading', 'b became leader'].map((message) => ({
        ...{ about, type: 'Normal', reason: 'LeaderElection', message },
      })),
    );
    await election.end();
  });

  it('who leads is reported, and no longer when the term has ended', async () => {
    const election = new Election();
    const network = election.stand('a');
    await election.pass(100);
    election.stand('b');
    await election.pass(5_000);
    assert.deepEqual([...election.reported], ['a']);
    network.fate = unreachable;
    await election.pass(30_000);
    assert.deepEqual([...election.reported], ['b']);
    election.stop('b');
    await election.pass(2_500);
    assert.deepEqual([...election.reported], []);
    await election.end();
  });

  it('a process that was paused for longer than its lease finds out before its timers do', async () => {
    const election = new Election();
    let paused = false;
    const late: (() => void)[] = [];
    const clock: Clock = {
      now: () => election.clock.now(),
      monotonic: () => election.clock.monotonic(),
      after: (delayMs, run) => election.clock.after(delayMs, () => (paused ? late.push(run) : run())),
    };
    election.stand('a', clock);
    await election.pass(1_000);
    election.requireLease();
    paused = true;
    await election.pass(8_500);
    election.requireLease();
    await election.pass(2_000);
    assert.deepEqual(election.log, ['+a']);
    assert.throws(() => election.requireLease(), /the lease could not be renewed in time/);
    assert.deepEqual(election.log, ['+a', '-a']);
    assert.throws(() => election.requireLease(), /the lease could not be renewed in time/, 'for good');
    paused = false;
    for (const run of late) run();
    await election.end();
  });

  it('a clock that is set forward ends the term', async () => {
    const election = new Election();
    let aheadMs = 0;
    const clock: Clock = {
      now: () => election.clock.now() + aheadMs,
      monotonic: () => election.clock.monotonic(),
      after: (delayMs, run) => election.clock.after(delayMs, run),
    };
    election.stand('a', clock);
    await election.pass(1_000);
    election.requireLease();
    // As after the machine has slept: its monotonic clock stood still.
    aheadMs = defaultTiming.renewMs;
    assert.throws(() => election.requireLease(), /the lease could not be renewed in time/);
    assert.deepEqual(election.log, ['+a', '-a']);
    await election.end();
  });

  it('a candidate waits as long as the holder has asked for', async () => {
    const election = new Election();
    const spec = {
      holderIdentity: 'other',
      leaseDurationSeconds: 60,
      leaseTransitions: 0,
      acquireTime: '',
      renewTime: '',
    };
    election.server.lease = { metadata: { name: 'manager', resourceVersion: '1' }, spec };
    election.stand('a');
    await election.pass(59_000);
    assert.deepEqual(election.log, []);
    await election.pass(5_000);
    assert.deepEqual(election.log, ['+a']);
    await election.end();
  });

  it('a leader that cannot renew stops after ten seconds, and another follows after fifteen', async () => {
    const election = new Election();
    const network = election.stand('a');
    await election.pass(100);
    election.stand('b');
    await election.pass(10_000);
    network.fate = unreachable;
    await election.pass(7_500);
    assert.deepEqual(election.log, ['+a']);
    await election.pass(2_600);
    assert.deepEqual(election.log, ['+a', '-a']);
    await election.pass(3_000);
    assert.deepEqual(election.log, ['+a', '-a']);
    await election.pass(6_000);
    assert.deepEqual(election.log, ['+a', '-a', '+b']);
    await election.end();
  });

  it('a leader continues although requests are lost for a while', async () => {
    const election = new Election();
    const network = election.stand('a');
    await election.pass(1_000);
    network.fate = unreachable;
    await election.pass(4_000);
    network.fate = () => ({ there: 100, back: 100, lost: 'no' });
    await election.pass(30_000);
    assert.deepEqual(election.log, ['+a']);
    await election.end();
  });

  it('a candidate retries a lost request', async () => {
    const election = new Election();
    const network = election.stand('a');
    network.fate = unreachable;
    await election.pass(1_000);
    network.fate = () => untroubled;
    await election.pass(10_000);
    assert.deepEqual(election.log, ['+a']);
    await election.end();
  });

  for (const lost of ['undone', 'unknown'] as const) {
    it(`a candidate rereads the lease after an unknown outcome (${lost})`, async () => {
      const election = new Election();
      const network = election.stand('a');
      network.fate = () => ({ there: 0, back: 0, lost });
      await election.pass(1_000);
      assert.equal(election.server.lease?.spec.holderIdentity, lost === 'unknown' ? 'a' : undefined);
      assert.deepEqual(election.log, [], 'it does not lead on a guess');
      network.fate = () => untroubled;
      await election.pass(3_000);
      assert.deepEqual(election.log, ['+a']);
      assert.equal(election.server.lease?.spec.leaseTransitions, 0);
      network.fate = () => ({ there: 0, back: 0, lost });
      await election.pass(11_000);
      assert.deepEqual(election.log, ['+a', '-a'], 'nor does it lead on by renewals that nobody knows of');
      network.fate = () => untroubled;
      await election.end();
    });
  }

  it('a lease taken by another ends the leadership at the next renewal', async () => {
    const election = new Election();
    election.stand('a');
    await election.pass(1_000);
    const { lease } = election.server;
    assert.ok(lease);
    election.server.lease = {
      metadata: { ...lease.metadata, resourceVersion: '99' },
      spec: { ...lease.spec, holderIdentity: 'thief' },
    };
    await election.pass(2_500);
    assert.deepEqual(election.log, ['+a', '-a']);
    await election.end();
  });

  it('a deleted lease is not taken by a candidate that saw it held', async () => {
    const election = new Election();
    const network = election.stand('a');
    await election.pass(100);
    election.stand('b');
    await election.pass(5_000);
    network.fate = unreachable;
    election.server.lease = undefined;
    await election.pass(5_000);
    assert.deepEqual(election.log, ['+a']);
    await election.pass(20_000);
    assert.deepEqual(election.log, ['+a', '-a', '+b']);
    await election.end();
  });

  it('a candidate that is stopped before it leads never leads', async () => {
    const election = new Election();
    election.stand('a').fate = unreachable;
    await election.pass(5_000);
    await election.end();
    assert.deepEqual(election.log, []);
  });

  it('two candidates never lead at once, whatever the network does', async () => {
    const delay = fc.oneof(fc.nat(100), fc.nat(3_000), fc.nat(20_000));
    const fate: fc.Arbitrary<Fate> = fc.record({
      there: delay,
      back: delay,
      lost: fc.constantFrom<Fate['lost']>('no', 'no', 'request', 'answer', 'undone', 'unknown'),
    });
    // Phases without faults, or with a total outage, last longer.
    const phase = fc.oneof(
      fate.map((each): readonly Fate[] => [each]),
      fc.integer({ min: 2, max: 12 }).map((count): readonly Fate[] => Array(count).fill(untroubled)),
      fc.integer({ min: 2, max: 6 }).map((count): readonly Fate[] => Array(count).fill(unreachable())),
    );
    const fates = fc.array(phase, { minLength: 2, maxLength: 8 }).map((phases) => phases.flat());
    let terms = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fates, { minLength: 2, maxLength: 3 }), fc.nat(60), async (networks, stopAfter) => {
        const election = new Election();
        for (const [index, all] of networks.entries()) {
          let next = 0;
          election.stand(`c${index}`).fate = () => all[next++ % all.length] ?? unreachable();
        }
        await election.pass(stopAfter * 1_000, 500);
        election.stop('c0');
        await election.pass(60_000, 500);
        terms += election.log.filter((change) => change.startsWith('+')).length;
        await election.end();
      }),
      { numRuns: 200 },
    );
    assert.ok(terms > 30, `only ${terms} terms: the property says nothing`);
  });
});
