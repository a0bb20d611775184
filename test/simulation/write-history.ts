import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { WatchEvent } from '../support/orch-process.ts';

/** A ConfigMap as the server shows it. */
export interface Observed {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data: Readonly<Record<string, string>>;
}

/** One write on its way. `sequence` is what the object holds after it; 0 is "absent". */
interface Attempt {
  readonly type: 'create' | 'update' | 'delete';
  readonly name: string;
  readonly sequence: number;
  readonly object: unknown;
}

/**
 * What a set of writers did to their objects, as far as they know: an acknowledged write leaves one possible state, a
 * write that was cut off leaves two. Worked example: `create a=1` acknowledged, `update a=2` cut off: a is 1 or 2.
 */
export class WriteHistory {
  readonly #possible = new Map<string, readonly number[]>();
  readonly #current = new Map<number, string>();
  /** Name -> resourceVersion, as the watch showed it last. */
  #mirror = new Map<string, string>();
  #sequence = 0;
  highestRevision = 0;
  acknowledged = 0;
  unknown = 0;

  /** What a writer does next: three updates between a create and a delete. */
  begin(writer: number): Attempt {
    const sequence = ++this.#sequence;
    const name = this.#current.get(writer);
    const state = name === undefined ? 0 : (this.#possible.get(name)?.[0] ?? 0);
    if (name === undefined || state === 0) {
      const fresh = `crash-${writer}-${sequence}`;
      this.#current.set(writer, fresh);
      return { type: 'create', name: fresh, sequence, object: objectOf(fresh, sequence) };
    }
    if (sequence % 4 === 0) return { type: 'delete', name, sequence: 0, object: undefined };
    return { type: 'update', name, sequence, object: objectOf(name, sequence) };
  }

  acknowledge({ name, sequence }: Attempt, answer: Partial<Observed>): void {
    this.acknowledged++;
    this.#possible.set(name, [sequence]);
    this.highestRevision = Math.max(this.highestRevision, Number(answer.metadata?.resourceVersion ?? 0));
  }

  cutOff({ name, sequence }: Attempt): void {
    this.unknown++;
    this.#possible.set(name, [...(this.#possible.get(name) ?? [0]), sequence]);
  }

  /** Every object is in one of its possible states, whole; nothing else is there. What was seen is then certain. */
  check(items: readonly Observed[], when: string): void {
    const found = new Map(items.map((item) => [item.metadata.name, item]));
    for (const [name, possible] of this.#possible) {
      const item = found.get(name);
      const sequence = item ? Number(item.data['sequence']) : 0;
      assert.ok(possible.includes(sequence), `${when}: ${name} is ${sequence}, possible: ${possible}`);
      if (item) assert.deepEqual(item.data, dataOf(name, sequence), `${when}: ${name} is whole`);
      if (sequence === 0) this.#possible.delete(name);
      else this.#possible.set(name, [sequence]);
      found.delete(name);
    }
    assert.deepEqual([...found.keys()], [], `${when}: nothing is there that was never written`);
    for (const { metadata } of items)
      this.highestRevision = Math.max(this.highestRevision, Number(metadata.resourceVersion));
  }

  /** What a client knows that listed, then watched until the connection broke. */
  observe(items: readonly Observed[], events: readonly WatchEvent[], from: number): void {
    this.#mirror = applied(versions(items), events, from);
  }

  /** What the events of a resumed watch must lead to. */
  expected(items: readonly Observed[]): ReadonlyMap<string, string> {
    return versions(items);
  }

  leadsTo(events: readonly WatchEvent[], expected: ReadonlyMap<string, string>): boolean {
    const state = new Map(this.#mirror);
    for (const event of events) apply(state, event);
    return state.size === expected.size && [...expected].every(([name, version]) => state.get(name) === version);
  }

  checkResumed(
    events: readonly WatchEvent[],
    from: number,
    until: number,
    expected: ReadonlyMap<string, string>,
  ): void {
    const state = applied(this.#mirror, events, from);
    assert.deepEqual(
      new Map([...state].sort()),
      new Map([...expected].sort()),
      'the resumed watch leads to what is there',
    );
    for (const { object } of events) assert.ok(Number(object.metadata.resourceVersion) <= until);
  }
}

const versions = (items: readonly Observed[]): Map<string, string> =>
  new Map(items.map(({ metadata }) => [metadata.name, metadata.resourceVersion]));

/** Applies events and checks that they are in order, each once, and follow from the state before. */
function applied(start: ReadonlyMap<string, string>, events: readonly WatchEvent[], from: number): Map<string, string> {
  const state = new Map(start);
  let last = from;
  for (const event of events) {
    const revision = Number(event.object.metadata.resourceVersion);
    if (event.type === 'BOOKMARK') continue;
    assert.ok(revision > last, `event at ${revision} after ${last}`);
    last = revision;
    const { name } = event.object.metadata;
    assert.equal(state.has(name), event.type !== 'ADDED', `${event.type} of ${name} at ${revision}`);
    apply(state, event);
  }
  return state;
}

function apply(state: Map<string, string>, { type, object }: WatchEvent): void {
  if (type === 'BOOKMARK') return;
  assert.ok(['ADDED', 'MODIFIED', 'DELETED'].includes(type), `event ${type}: ${JSON.stringify(object)}`);
  if (type === 'DELETED') state.delete(object.metadata.name);
  else state.set(object.metadata.name, object.metadata.resourceVersion);
}

const objectOf = (name: string, sequence: number): unknown => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { crash: 'yes' } },
  data: dataOf(name, sequence),
});

const dataOf = (name: string, sequence: number): Record<string, string> => ({
  sequence: String(sequence),
  check: createHash('sha256').update(`${name} ${sequence}`).digest('hex'),
  filler: 'x'.repeat(200 + (sequence % 800)),
});
