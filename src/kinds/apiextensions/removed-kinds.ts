/**
 * Kinds of custom resources whose definitions were removed, as servers tell in a ConfigMap: it has an entry for each of them,
 * by the name of the definition.
 */
export interface RemovedKind {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** An entry as it is written. */
interface Entry {
  readonly kind: string;
  readonly namespaced: boolean;
  /** Of the definition. */
  readonly uid: string;
  /** When it was written, milliseconds: the oldest entries go first. */
  readonly at: number;
}

/** By the name of the definition. */
type Data = Readonly<Record<string, string>>;

export const removedKindText = ({ kind, namespaced, uid, at }: Entry): string => JSON.stringify({ kind, namespaced, uid, at });

/** What an entry says; undefined for what is none. */
export function readRemovedKind(text: string | undefined): Entry | undefined {
  let entry: Partial<Entry> | null;
  try {
    entry = JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
  const { kind, namespaced, uid, at } = entry ?? {};
  const isEntry = typeof kind === 'string' && typeof namespaced === 'boolean' && typeof uid === 'string' && typeof at === 'number';
  return isEntry ? { kind, namespaced, uid, at } : undefined;
}

/** All kinds of the ConfigMap. */
export const removedKinds = (data: Data): readonly RemovedKind[] =>
  Object.entries(data).flatMap(([name, text]) => {
    const entry = readRemovedKind(text);
    const dot = name.indexOf('.');
    if (!entry || dot < 0) return [];
    const { kind, namespaced } = entry;
    return [{ plural: name.slice(0, dot), group: name.slice(dot + 1), kind, namespaced }];
  });
