import { until } from '../../../src/base/waits-fixture.ts';
import type { ClientRequest } from '../../../src/outbound/transport.ts';
import type { Dice } from '../dice.ts';
import { get, write } from '../simulated-world.ts';
import { ask, type Member, type Reply, type ReplyBody, type Servers } from './client.ts';
import type { Answer, Call } from './operation.ts';
import type { Recorder } from './recorder.ts';

/** Keys that clients quarrel about. */
const keys = ['a', 'b', 'c'];
/** Written at the end. */
const lastKey = 'last';
const pageSize = 2;
/** How often a service is made or removed beside it, whose address is claimed in the same batch. */
const serviceRate = 0.1;
const serviceNames = ['x', 'y'];

interface Seen {
  readonly value: string;
  readonly revision: string;
}

interface WorkloadParts {
  readonly servers: Servers;
  readonly dice: Dice;
  readonly recorder: Recorder;
  /** Where the objects are. */
  readonly namespace: string;
}

/** One client: asks any server, one request after the other. */
export class Workload {
  readonly #parts: WorkloadParts;
  readonly #name: string;
  /** What it knows of each key. */
  readonly #seen = new Map<string, Seen>();
  /** Revisions that it was told. */
  readonly #revisions: number[] = [];

  constructor(name: string, parts: WorkloadParts) {
    this.#name = name;
    this.#parts = parts;
  }

  async run(requests: number): Promise<void> {
    const { dice } = this.#parts;
    for (let count = 0; count < requests; count++) {
      const key = dice.pick(keys);
      const chosen = dice.below(20);
      if (chosen < 3) await this.#create(key);
      else if (chosen < 8) await this.#put(key);
      else if (chosen < 10) await this.#patch(key);
      else if (chosen < 12) await this.#apply(key);
      else if (chosen < 14) await this.#delete(key);
      else if (chosen < 17) await this.#get(key);
      else if (chosen < 18) await this.#list();
      else if (chosen < 19) await this.#pages();
      else await this.#listExactly();
      if (dice.chance(serviceRate)) await this.#service();
    }
  }

  #member(): Member {
    const { servers, dice } = this.#parts;
    return dice.pick(servers.members);
  }

  get #collection(): string {
    return `/api/v1/namespaces/${this.#parts.namespace}/configmaps`;
  }

  #object(key: string, value: string, resourceVersion?: string): unknown {
    const metadata = { name: key, ...(resourceVersion !== undefined && { resourceVersion }) };
    return {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata,
      data: { value, filler: 'x'.repeat(this.#parts.dice.below(200)) },
    };
  }

  #create(key: string): Promise<void> {
    const value = this.#parts.recorder.value();
    return this.#do(key, { type: 'create', value }, write('POST', this.#collection, this.#object(key, value)));
  }

  /** With the version that was read, or without any. */
  #put(key: string): Promise<void> {
    const value = this.#parts.recorder.value();
    const seen = this.#parts.dice.chance(0.7) ? this.#seen.get(key) : undefined;
    const call: Call = { type: 'update', value, ...(seen && { expected: seen.value }) };
    return this.#do(key, call, write('PUT', `${this.#collection}/${key}`, this.#object(key, value, seen?.revision)));
  }

  #patch(key: string): Promise<void> {
    const value = this.#parts.recorder.value();
    const request = write('PATCH', `${this.#collection}/${key}`, { data: { value } }, 'application/merge-patch+json');
    return this.#do(key, { type: 'update', value }, request);
  }

  #apply(key: string): Promise<void> {
    const value = this.#parts.recorder.value();
    const target = `${this.#collection}/${key}?fieldManager=${this.#name}&force=true`;
    return this.#do(
      key,
      { type: 'apply', value },
      write('PATCH', target, this.#object(key, value), 'application/apply-patch+yaml'),
    );
  }

  #delete(key: string): Promise<void> {
    const seen = this.#parts.dice.chance(0.5) ? this.#seen.get(key) : undefined;
    const options = seen ? { preconditions: { resourceVersion: seen.revision } } : {};
    const call: Call = { type: 'delete', ...(seen && { expected: seen.value }) };
    return this.#do(key, call, write('DELETE', `${this.#collection}/${key}`, options));
  }

  #get(key: string): Promise<void> {
    return this.#do(key, { type: 'get' }, get(`${this.#collection}/${key}`));
  }

  /** Writes what comes last, until it is acknowledged; gives its revision. Throws if it never is. */
  async finish(): Promise<number> {
    const { recorder, namespace } = this.#parts;
    const written = this.#revisions.length;
    const last = () => recorder.operations.at(-1);
    const isWritten = async (): Promise<boolean> => {
      await this.#apply(lastKey);
      if (last()?.answer.type === 'absent') throw new Error(`${namespace} was acknowledged and is lost`);
      return this.#revisions.length > written;
    };
    await until(isWritten, () => `nothing is taken in ${namespace}: ${JSON.stringify(last())}`);
    return this.#revisions.at(-1) ?? 0;
  }

  async #do(key: string, call: Call, request: ClientRequest): Promise<void> {
    const answer = await this.#parts.recorder.operation(this.#name, key, call, async () =>
      answerOf(call, await ask(this.#member(), request)),
    );
    if (answer.type === 'done' && answer.value !== undefined) {
      this.#seen.set(key, { value: answer.value, revision: String(answer.revision) });
    }
    if (answer.type === 'done' && answer.revision !== undefined) this.#revisions.push(answer.revision);
  }

  async #service(): Promise<void> {
    const { dice, namespace } = this.#parts;
    const services = `/api/v1/namespaces/${namespace}/services`;
    const name = dice.pick(serviceNames);
    const made = { metadata: { name }, spec: { ports: [{ port: 80 }] } };
    const request = dice.chance(0.6) ? write('POST', services, made) : write('DELETE', `${services}/${name}`, {});
    await ask(this.#member(), request);
  }

  async #list(): Promise<void> {
    const invokedAt = this.#parts.recorder.moment();
    const reply = await ask(this.#member(), get(this.#collection));
    if (reply !== 'gone' && isRead(reply)) this.#note(invokedAt, [reply.body]);
  }

  /** What was there at a revision that was told before, from whichever server. */
  async #listExactly(): Promise<void> {
    const { dice, recorder } = this.#parts;
    if (this.#revisions.length === 0) return;
    const exact = dice.pick(this.#revisions);
    const invokedAt = recorder.moment();
    const query = `resourceVersion=${exact}&resourceVersionMatch=Exact`;
    const reply = await ask(this.#member(), get(`${this.#collection}?${query}`));
    if (reply !== 'gone' && isRead(reply)) this.#note(invokedAt, [reply.body], exact);
  }

  /** Each page from any server. */
  async #pages(): Promise<void> {
    const { recorder } = this.#parts;
    const invokedAt = recorder.moment();
    const pages: ReplyBody[] = [];
    for (let token = ''; ; ) {
      const query = `limit=${pageSize}${token === '' ? '' : `&continue=${encodeURIComponent(token)}`}`;
      const reply = await ask(this.#member(), get(`${this.#collection}?${query}`));
      if (reply === 'gone' || !isRead(reply)) return;
      pages.push(reply.body);
      token = reply.body.metadata?.continue ?? '';
      if (token === '') break;
    }
    this.#note(invokedAt, pages);
  }

  #note(invokedAt: number, pages: readonly ReplyBody[], exact?: number): void {
    const { recorder } = this.#parts;
    const revisions = new Set(pages.map(({ metadata }) => metadata?.resourceVersion));
    if (revisions.size !== 1) throw new Error(`pages of one list are at ${[...revisions].join(' and ')}`);
    const items = pages.flatMap((page) => page.items ?? []);
    recorder.lists.push({
      client: this.#name,
      revision: revisionOf(pages[0] ?? {}),
      exact,
      items: new Map(items.map(({ metadata, data }) => [metadata?.name ?? '', data?.['value'] ?? ''])),
      invokedAt,
    });
  }
}

const revisionOf = ({ metadata }: ReplyBody): number => Number(metadata?.resourceVersion);

/** Reads may be refused, never answered wrongly. */
function isRead({ status, body }: Reply): boolean {
  if (status === 200) return true;
  if (status === 429 || status === 503 || status === 504 || status === 410) return false;
  throw new Error(`a read is answered with ${status} ${body.message}`);
}

/** What an answer of the server says of an operation (spec section 7). */
function answerOf(call: Call, reply: Reply | 'gone'): Answer {
  if (reply === 'gone') return { type: call.type === 'get' ? 'refused' : 'unknown' };
  const { status, body } = reply;
  switch (status) {
    case 200:
    case 201:
      if (call.type === 'delete') return { type: 'done' };
      return { type: 'done', value: body.data?.['value'], revision: revisionOf(body) };
    case 404:
      return { type: 'absent' };
    case 409:
      if (body.reason === 'AlreadyExists') return { type: 'exists' };
      // A change without an expected version is tried again some times, and then given up.
      return { type: 'expected' in call ? 'conflict' : 'refused' };
    case 429:
    case 503:
      return { type: 'refused' };
    case 504:
      return { type: 'unknown' };
    default:
      throw new Error(`${call.type} is answered with ${status} ${body.message}`);
  }
}
