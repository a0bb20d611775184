import type { RevisionLine } from '../../../cache/cache.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { Revision } from '../../../store/store.ts';

/**
 * From which revision of another store on the namespaces are those that this server knows. What that store had before this server
 * heard of a namespace may be of one before it: nothing but time connects two stores. So after a start there is no
 * history of namespaces in it, as in kube-apiserver, whose watch cache begins with the process.
 */
export class KnownNamespaces {
  readonly #line: RevisionLine;
  readonly #since = new Map<string, { readonly uid: string | undefined; readonly revision: Promise<Revision> }>();

  constructor(line: RevisionLine) {
    this.#line = line;
  }

  put({ metadata: { name = '', uid } }: ApiObject): void {
    if (this.#since.get(name)?.uid !== uid) this.#learn(name, uid);
  }

  remove(name: string): void {
    this.#since.delete(name);
  }

  /** Whether the namespace of this name has been there since a revision. */
  async hasSince(name: string, at: Revision): Promise<boolean> {
    const known = this.#since.get(name);
    if (!known) return false;
    try {
      return (await known.revision) <= at;
    } catch {
      // The store did not answer then: what it has from now on is of this namespace.
      if (this.#since.get(name) === known) this.#learn(name, known.uid);
      return false;
    }
  }

  /** What is written from now on is of this namespace. */
  #learn(name: string, uid: string | undefined): void {
    const revision = this.#line.fresh();
    revision.catch(() => {});
    this.#since.set(name, { uid, revision });
  }
}
