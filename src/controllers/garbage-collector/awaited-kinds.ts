/**
 * Objects that must be looked at again when all objects of a kind have been listed, because the owner that they name was
 * of that kind: until then its deletion may be seen by nobody.
 */
export class AwaitedKinds {
  /** UIDs by kind, and kinds by UID. */
  readonly #objects = new Map<string, Set<string>>();
  readonly #kinds = new Map<string, Set<string>>();

  add(kind: string, uid: string): void {
    link(this.#objects, kind, uid);
    link(this.#kinds, uid, kind);
  }

  /** The objects that wait for a kind; they no longer do. */
  take(kind: string): readonly string[] {
    const uids = [...(this.#objects.get(kind) ?? [])];
    for (const uid of uids) this.#unlink(kind, uid);
    return uids;
  }

  /** For an object that is gone, or has other owners. */
  drop(uid: string): void {
    for (const kind of [...(this.#kinds.get(uid) ?? [])]) this.#unlink(kind, uid);
  }

  get size(): number {
    return this.#kinds.size;
  }

  #unlink(kind: string, uid: string): void {
    unlink(this.#objects, kind, uid);
    unlink(this.#kinds, uid, kind);
  }
}

function link(links: Map<string, Set<string>>, from: string, to: string): void {
  const linked = links.get(from);
  if (linked) linked.add(to);
  else links.set(from, new Set([to]));
}

function unlink(links: Map<string, Set<string>>, from: string, to: string): void {
  const linked = links.get(from);
  linked?.delete(to);
  if (linked?.size === 0) links.delete(from);
}
