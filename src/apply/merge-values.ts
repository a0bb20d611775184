import { equalValues } from '../schema/equal-values.ts';
import { getOwn, isRecord, setOwn } from '../schema/own-property.ts';
import { isWhole } from './fields/fields-of.ts';
import { itemsOf } from './fields/list-items.ts';
import { type FieldShape, isEmpty, type ListShape, type Shape, type StructShape } from './fields/shape.ts';

/**
 * Merges an applied configuration into a live value. Nothing is removed: parts that only the live value has stay.
 * Leaves take the value of the configuration, including null; a value that decoding would drop does not create an
 * absent field.
 *
 * Elements of the configuration keep its order in lists, and elements that only the live list has keep their place
 * between those. Duplicate elements of the live list are replaced by the one of the configuration.
 *
 * Shares parts with both; returns the live value itself if nothing changes. Undefined means absent.
 */
export function mergeValues(shape: Shape, live: unknown, config: unknown): unknown {
  if (config === undefined) return live;
  if (shape.type === 'leaf' || (isEmpty(live) && isEmpty(config))) return newest(live, config);
  if (config === null && shape.schema.nullable) return null;
  switch (shape.type) {
    case 'deduced':
      if (config === null ? !isRecord(live) : isWhole(shape, config)) return newest(live, config);
      return mergeParts(live, config, (_name, before, after) => mergeValues(shape, before, after));
    case 'map':
      return mergeParts(live, config, (_name, before, after) => mergeValues(shape.values, before, after));
    case 'struct':
      return mergeStructs(shape, live, config);
    case 'list':
      return mergeLists(shape, live, config);
  }
}

const newest = (live: unknown, config: unknown): unknown => (equalValues(live, config) ? live : config);

const mergeStructs = ({ fields }: StructShape, live: unknown, config: unknown): unknown =>
  mergeParts(live, config, (name, before, after) => {
    const field = fields.get(name);
    return field ? mergeField(field, before, after) : before;
  });

function mergeField({ shape, owners, isAbsent }: FieldShape, live: unknown, config: unknown): unknown {
  if (live === undefined) return isAbsent(config) ? undefined : mergeValues(shape, undefined, config);
  return owners === 'nobody' ? live : mergeValues(shape, live, config);
}

type PartMerger = (name: string, live: unknown, config: unknown) => unknown;

/** Merges objects part by part. A live value that is not an object is treated as empty. */
function mergeParts(live: unknown, config: unknown, mergePart: PartMerger): unknown {
  const before = isRecord(live) ? live : {};
  const after = isRecord(config) ? config : {};
  let merged: Record<string, unknown> | undefined;
  for (const name in after) {
    const part = getOwn(before, name);
    const newPart = mergePart(name, part, after[name]);
    if (newPart === part) continue;
    merged ??= { ...before };
    setOwn(merged, name, newPart);
  }
  return merged ?? (isRecord(live) ? live : {});
}

function mergeLists(shape: ListShape, live: unknown, config: unknown): unknown {
  const before = Array.isArray(live) ? live : [];
  const liveItems = itemsOf(shape, before);
  const merged = new Map<string, unknown>();
  for (const [element, [item]] of itemsOf(shape, config)) {
    const [same, ...more] = liveItems.get(element) ?? [];
    merged.set(element, mergeValues(shape.items, more.length > 0 ? undefined : same, item));
  }
  const list = interleave(
    before.map((item) => ({ element: shape.elementOf(item), item })),
    merged,
  );
  const isLive = list.length === before.length && list.every((item, index) => item === before[index]);
  return isLive ? live : list;
}

interface LiveItem {
  readonly element: string;
  readonly item: unknown;
}

/**
 * Inserts live elements that the configuration lacks: each element of the configuration is preceded by the live ones up
 * to the next element that both have.
 */
function interleave(live: readonly LiveItem[], merged: ReadonlyMap<string, unknown>): readonly unknown[] {
  const liveElements = new Set(live.map(({ element }) => element));
  const shared = [...merged.keys()].filter((element) => liveElements.has(element));
  const list: unknown[] = [];
  let [at, nextShared] = [0, 0];
  const takeLive = (): void => {
    for (; at < live.length && live[at]?.element !== shared[nextShared]; at++) {
      const next = live[at];
      if (next && !merged.has(next.element)) list.push(next.item);
    }
  };
  for (const [element, item] of merged) {
    takeLive();
    list.push(item);
    if (element !== shared[nextShared]) continue;
    if (live[at]?.element === element) at++;
    nextShared++;
  }
  takeLive();
  return list;
}
