import { getOrAdd } from '../../base/collections/get-or-add.ts';

interface Waiting {
  /** Definitions of the group whose kinds are not served yet as they say, with the number of changes of each. */
  readonly changes: Map<string, number>;
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

/**
 * Definitions that have changed and whose kinds are still served as they were before. Who comes after a change was acknowledged
 * waits here: it may have been acknowledged by another server, or another thread.
 */
export class UnservedDefinitions {
  readonly #groups = new Map<string, Waiting>();

  /** The definition has changed. */
  add(name: string): void {
    const group = groupOf(name);
    const { changes } = getOrAdd(this.#groups, group, startWaiting);
    changes.set(name, (changes.get(name) ?? 0) + 1);
  }

  /** Its kinds are about to be changed; returns what `end` takes. */
  begin(name: string): number | undefined {
    return this.#groups.get(groupOf(name))?.changes.get(name);
  }

  /** Its kinds are as it said at `begin`, or cannot be. */
  end(name: string, seen: number | undefined): void {
    const group = groupOf(name);
    const waiting = this.#groups.get(group);
    if (!waiting || waiting.changes.get(name) !== seen) return;
    waiting.changes.delete(name);
    if (waiting.changes.size > 0) return;
    this.#groups.delete(group);
    waiting.resolve();
  }

  /** Waits for the definitions of the group, or of all; undefined if there is none to wait for. */
  settled(group?: string): Promise<void> | undefined {
    if (group !== undefined) return this.#groups.get(group)?.promise;
    if (this.#groups.size === 0) return undefined;
    return Promise.all(Array.from(this.#groups.values(), ({ promise }) => promise)).then(() => {});
  }
}

const startWaiting = (): Waiting => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { changes: new Map(), promise, resolve };
};

/** A definition is named after its resource: `<plural>.<group>`. */
const groupOf = (name: string): string => name.slice(name.indexOf('.') + 1);
