import type { Dialect } from '../dialect/dialect.ts';
import { isDefaultIngressClass } from '../kinds/networking/ingress-class.ts';
import { asPriorityClass } from '../kinds/scheduling/priority-class.ts';
import { isDefaultStorageClass } from '../kinds/storage/storage-class.ts';
import { type ApiObject, byName, nameOf } from '../meta/api-object.ts';

interface ClassRule {
  /** Short name of the API group. */
  readonly group: string;
  /** The class may be that of objects that name none. */
  readonly isDefault: (object: ApiObject, dialect: Dialect) => boolean;
  /** Order of preference where there are several. */
  readonly compare: (a: ApiObject, b: ApiObject) => number;
}

function newestFirst(a: ApiObject, b: ApiObject): number {
  const { creationTimestamp: ofA = '' } = a.metadata;
  const { creationTimestamp: ofB = '' } = b.metadata;
  return ofA === ofB ? byName(a, b) : ofA > ofB ? -1 : 1;
}

const priorityOf = (object: ApiObject): number => asPriorityClass(object).value ?? 0;

/** Kinds of classes of which one counts for objects that name none, by their plural names. All are of version v1. */
export const classRules = {
  priorityclasses: {
    group: 'scheduling',
    isDefault: (object) => asPriorityClass(object).globalDefault ?? false,
    compare: (a, b) => priorityOf(a) - priorityOf(b) || byName(a, b),
  },
  storageclasses: { group: 'storage', isDefault: isDefaultStorageClass, compare: newestFirst },
  ingressclasses: { group: 'networking', isDefault: isDefaultIngressClass, compare: newestFirst },
} as const satisfies Readonly<Record<string, ClassRule>>;

export type DefaultedKind = keyof typeof classRules;
export const defaultedKinds = Object.keys(classRules) as readonly DefaultedKind[];

/** The classes that say that they are the default ones of their kind; others are not kept. */
export class DefaultClasses {
  readonly #dialect: Dialect;
  readonly #classes: Readonly<Record<DefaultedKind, Map<string, ApiObject>>> = {
    priorityclasses: new Map(),
    storageclasses: new Map(),
    ingressclasses: new Map(),
  };
  /** The preferred ones, as far as they are known. */
  readonly #preferred = new Map<DefaultedKind, ApiObject>();

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  put(kind: DefaultedKind, object: ApiObject): void {
    this.remove(kind, nameOf(object));
    if (!classRules[kind].isDefault(object, this.#dialect)) return;
    this.#classes[kind].set(nameOf(object), object);
    this.#preferred.delete(kind);
  }

  remove(kind: DefaultedKind, name: string): void {
    if (this.#classes[kind].delete(name)) this.#preferred.delete(kind);
  }

  /** The class of objects that name none; callers share it, and must not change it. */
  find(kind: DefaultedKind): ApiObject | undefined {
    const known = this.#preferred.get(kind);
    if (known) return known;
    let preferred: ApiObject | undefined;
    for (const each of this.#classes[kind].values()) {
      if (!preferred || classRules[kind].compare(each, preferred) < 0) preferred = each;
    }
    if (preferred) this.#preferred.set(kind, preferred);
    return preferred;
  }
}
