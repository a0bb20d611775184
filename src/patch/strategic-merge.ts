import { joinPath } from '../schema/field-path.ts';
import { getOwn, isRecord, setOwn } from '../schema/own-property.ts';
import { type ListSchema, type Schema, type StructSchema, schemaOf } from '../schema/schema.ts';
import { arrange, type ElementKey } from './element-order.ts';
import { PatchBudget } from './patch-budget.ts';
import { badFormat, isDirective, type PatchedObject, patchDirective, readDirectives } from './patch-directives.ts';
import { doesNotApply, malformedPatch, shown, typeName } from './patch-error.ts';

/**
 * Strategic merge patch (spec section 4.6): like a JSON merge patch, but the schema says which lists are merged, and by
 * which key of their elements (`patchStrategy`, `patchMergeKey`). Directives express what a merge cannot:
 *
 * - `$patch: replace` in an object: the rest of the patch replaces it; in an element of a merged list: the other
 *   elements replace the list. `$patch: delete` in an object empties it; in an element, with its merge key, it removes
 *   all elements with that key.
 * - `$retainKeys: [...]`: fields not named are removed; the patch must not set them.
 * - `$setElementOrder/<list>: [...]`: the order of the elements, which must contain those of the patch in the same
 *   order.
 * - `$deleteFromPrimitiveList/<list>: [...]`: scalars to remove from the list, after any additions.
 *
 * Fields unknown to the schema are merged as JSON; decoding reports them. Neither `original` nor `patch` is modified;
 * the result shares the untouched parts of both.
 *
 * New and replaced content is taken from the patch without nulls and directives; an object in it that has `$patch` is
 * omitted, as in kube-apiserver, even for `replace`. kube-apiserver does not clean up lists and replaced objects, where
 * directives become fields. With an empty `$setElementOrder` the list keeps its order, and new elements come last.
 *
 * Throws BadRequest (400) if the patch is invalid for its schema, Invalid (422) if it cannot be applied to the object.
 * kube-apiserver returns 500 for most of these, with the same messages.
 */
export function strategicMerge({ schema, original, patch }: StrategicMergeInput): Record<string, unknown> {
  if (!isRecord(patch)) throw malformedPatch('', `expected an object, got ${typeName(patch)}`);
  return new StrategicMerge().object(schema, original, patch);
}

interface StrategicMergeInput {
  readonly schema: StructSchema;
  readonly original: Readonly<Record<string, unknown>>;
  /** The decoded patch document. */
  readonly patch: unknown;
}

type JsonObject = Readonly<Record<string, unknown>>;

/** An element of a merged list while it is being merged. */
interface Element {
  readonly key: ElementKey;
  value: unknown;
}

/** What the schema says about a field; `schema` is undefined for unknown fields. */
interface KnownField {
  readonly schema: Schema | undefined;
  readonly replaced: boolean;
}

const unknownField: KnownField = { schema: undefined, replaced: false };

function fieldOf(schema: Schema | undefined, name: string): KnownField {
  if (schema?.type === 'map') return { schema: schema.values, replaced: false };
  if (schema?.type !== 'struct') return unknownField;
  if (!Object.hasOwn(schema.fields, name)) {
    return typeof schema.additional === 'object' ? { schema: schema.additional, replaced: false } : unknownField;
  }
  const field = schema.fields[name];
  return field ? { schema: schemaOf(field), replaced: field.patchStrategy === 'replace' } : unknownField;
}

const isMerged = (schema: Schema | undefined): schema is ListSchema =>
  schema?.type === 'list' && (schema.patchStrategy === 'merge' || schema.patchStrategy === 'merge,retainKeys');

/** State of one merge: the current path, for errors, and the work done. */
class StrategicMerge {
  readonly #steps: string[] = [];
  readonly #budget = new PatchBudget();

  object(schema: Schema | undefined, original: JsonObject, patch: JsonObject): Record<string, unknown> {
    const directive = this.#directiveOf(patch);
    if (directive === 'delete') return {};
    if (directive === 'replace') {
      const { [patchDirective]: _, ...replacement } = patch;
      return this.#contentOf(replacement);
    }
    const directives = readDirectives(patch, () => this.#path());
    const merged = this.#retain(original, directives.retained);
    for (const [name, order] of directives.orders) {
      this.#step(name, () => this.#mergeOrdered(fieldOf(schema, name), merged, name, directives.fields, order));
    }
    for (const [name, value] of directives.fields) {
      this.#steps.push(name);
      const result = value === null ? undefined : this.#value(fieldOf(schema, name), getOwn(merged, name), value);
      if (result === undefined) delete merged[name];
      else setOwn(merged, name, result);
      this.#steps.pop();
    }
    for (const [name, scalars] of directives.deletions) {
      this.#step(name, () => this.#deleteScalars(merged, name, scalars));
    }
    return merged;
  }

  /** A copy of the original without the fields that are not retained. */
  #retain(original: JsonObject, retained: PatchedObject['retained']): Record<string, unknown> {
    this.#budget.spend(Object.keys(original).length);
    const merged = { ...original };
    if (retained) for (const name of Object.keys(merged)) if (!retained.has(name)) delete merged[name];
    return merged;
  }

  /** The value of a field after the patch; undefined if it is removed. `value` is not null. */
  #value(field: KnownField, current: unknown, value: unknown): unknown {
    if (isRecord(current) && isRecord(value)) {
      const whole = field.replaced && !Object.hasOwn(value, patchDirective);
      return whole ? this.#contentOf(value) : this.object(field.schema, current, value);
    }
    if (Array.isArray(current) && Array.isArray(value) && isMerged(field.schema)) {
      return this.#list(field.schema, current, value);
    }
    return this.#content(value);
  }

  /** A patch value without nulls and directives; undefined for an object with `$patch`. */
  #content(value: unknown): unknown {
    if (Array.isArray(value)) {
      return value.flatMap((element, index) => {
        const content = this.#step(`[${index}]`, () => this.#content(element));
        return content === undefined ? [] : [content];
      });
    }
    if (!isRecord(value)) return value;
    return this.#directiveOf(value) === undefined ? this.#contentOf(value) : undefined;
  }

  #contentOf(object: JsonObject): Record<string, unknown> {
    const content: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(object)) {
      if (value === null || isDirective(name)) continue;
      const each = this.#step(name, () => this.#content(value));
      if (each !== undefined) setOwn(content, name, each);
    }
    return content;
  }

  #list(schema: ListSchema, current: readonly unknown[], patch: readonly unknown[]): readonly unknown[] {
    this.#budget.spend(current.length + patch.length);
    if (current.length === 0 && patch.length === 0) return current;
    const mergeKey = this.#checkElements(schema, current, patch);
    const merged =
      mergeKey === undefined
        ? this.#scalars(current, patch)
        : this.#objects({ items: schema.items, mergeKey, current, patch });
    return merged.map(({ value }) => value);
  }

  /**
   * Checks that the elements of a merged list have one type, and that objects have a merge key. Returns that key for
   * objects.
   */
  #checkElements(schema: ListSchema, current: readonly unknown[], patch: readonly unknown[]): string | undefined {
    const types = new Set([...current, ...patch].map(typeName));
    if (types.has('array')) throw doesNotApply(this.#path(), 'lists of lists are not supported');
    const [type] = types;
    if (types.size > 1 || type === 'null') {
      throw malformedPatch(this.#path(), `list element types are not identical: ${[...types].join(', ')}`);
    }
    if (type === 'object' && schema.patchMergeKey === undefined) {
      throw malformedPatch(this.#path(), 'cannot merge lists without merge key');
    }
    if (type !== 'object' && schema.patchMergeKey !== undefined) {
      throw malformedPatch(this.#path(), `expected a list of objects, got ${type}`);
    }
    return schema.patchMergeKey;
  }

  #scalars(current: readonly unknown[], patch: readonly unknown[]): readonly Element[] {
    const all = new Set([...current, ...patch] as ElementKey[]);
    const elements = [...all].map((value) => ({ key: value, value }));
    return arrange(elements, patch as ElementKey[], current as ElementKey[]);
  }

  #objects({ items, mergeKey, current, patch }: MergedObjects): readonly Element[] {
    const { plain, deleted, replace } = this.#sort(patch, mergeKey);
    if (replace) return plain.map(({ key, element }) => ({ key, value: this.#content(element) }));
    const merged = this.#elementsOf(current, mergeKey).filter(({ key }) => !deleted.has(key));
    const before = merged.map(({ key }) => key);
    const first = new Map<ElementKey, Element>();
    for (const element of merged) if (!first.has(element.key)) first.set(element.key, element);
    for (const { key, element, index } of plain) {
      this.#steps.push(`[${index}]`);
      const found = first.get(key);
      if (found) found.value = this.object(items, found.value as JsonObject, element);
      else {
        const added: Element = { key, value: this.#content(element) };
        first.set(key, added);
        merged.push(added);
      }
      this.#steps.pop();
    }
    return arrange(
      merged,
      plain.map(({ key }) => key),
      before,
    );
  }

  /** Sorts the elements of a patch list by directive. */
  #sort(patch: readonly unknown[], mergeKey: string): SortedElements {
    const plain: { key: ElementKey; element: JsonObject; index: number }[] = [];
    const deleted = new Set<ElementKey>();
    let replace = false;
    for (const [index, each] of patch.entries()) {
      this.#steps.push(`[${index}]`);
      const element = each as JsonObject;
      // A non-object has no key and is rejected for that below.
      const directive = isRecord(each) ? this.#directiveOf(each) : undefined;
      if (directive === 'replace') replace = true;
      else if (directive === 'delete') deleted.add(this.#keyOf(element, mergeKey));
      else plain.push({ key: this.#keyOf(element, mergeKey), element, index });
      this.#steps.pop();
    }
    return { plain, deleted, replace };
  }

  /** The merge key of a patch element. */
  #keyOf(element: unknown, mergeKey: string): ElementKey {
    const key = keyOf(element, mergeKey);
    if (key === undefined) throw malformedPatch(this.#path(), missingKey(element, mergeKey));
    return key;
  }

  /** Elements of the list before or after merging. */
  #elementsOf(list: readonly unknown[], mergeKey: string | undefined): Element[] {
    return list.map((value) => {
      const key = keyOf(value, mergeKey);
      if (key !== undefined) return { key, value };
      const problem =
        mergeKey === undefined ? `expected a list of scalars, got ${typeName(value)}` : missingKey(value, mergeKey);
      throw doesNotApply(this.#path(), problem);
    });
  }

  /** `$setElementOrder`: merges the list, orders it, and removes the field from `fields`. */
  #mergeOrdered(
    field: KnownField,
    merged: Record<string, unknown>,
    name: string,
    fields: Map<string, unknown>,
    order: readonly unknown[],
  ): void {
    const { schema } = field;
    if (schema?.type !== 'list') return;
    const current = getOwn(merged, name) ?? undefined;
    const patch = fields.get(name);
    if (current !== undefined && !Array.isArray(current)) {
      throw doesNotApply(this.#path(), `expected a list, got ${typeName(current)}`);
    }
    if (patch !== undefined && !Array.isArray(patch)) {
      throw malformedPatch(this.#path(), `expected a list, got ${typeName(patch)}`);
    }
    fields.delete(name);
    const mergeKey = schema.patchMergeKey;
    const wanted = order.map((each) => this.#orderKey(each, mergeKey));
    this.#checkOrder(patch ?? [], wanted, { mergeKey, order });
    const list = patch === undefined ? current : this.#value(field, current, patch);
    if (!Array.isArray(list)) return;
    this.#budget.spend(list.length + order.length);
    const before = this.#keysBefore(current ?? [], patch ?? [], mergeKey);
    const arranged = arrange(this.#elementsOf(list, mergeKey), wanted, before);
    setOwn(
      merged,
      name,
      arranged.map(({ value }) => value),
    );
  }

  /**
   * The previous order of the list, for `$setElementOrder`. Up to as many added elements as the patch deletes count as
   * the last elements of the previous list, so new elements follow the server's own if others are deleted. This is
   * accidental in kube-apiserver, but its tests require it.
   */
  #keysBefore(current: readonly unknown[], patch: readonly unknown[], mergeKey: string | undefined): ElementKey[] {
    const keys = this.#elementsOf(current, mergeKey).map(({ key }) => key);
    if (mergeKey === undefined) return keys;
    const { plain, deleted } = this.#sort(patch, mergeKey);
    const stayed = keys.filter((key) => !deleted.has(key));
    const known = new Set(stayed);
    const added = new Set(plain.map(({ key }) => key).filter((key) => !known.has(key)));
    return [...stayed, ...[...added].slice(0, keys.length - stayed.length)];
  }

  #orderKey(each: unknown, mergeKey: string | undefined): ElementKey {
    const key = keyOf(each, mergeKey);
    if (key !== undefined) return key;
    if (mergeKey === undefined || !isRecord(each)) throw badFormat('setElementOrder list', this.#path());
    throw malformedPatch(this.#path(), missingKey(each, mergeKey));
  }

  /** The elements that the patch sets must appear in the order, in the same sequence. */
  #checkOrder(
    patch: readonly unknown[],
    wanted: readonly ElementKey[],
    { mergeKey, order }: { readonly mergeKey: string | undefined; readonly order: readonly unknown[] },
  ): void {
    if (wanted.length === 0) return;
    let at = 0;
    for (const element of patch) {
      if (isRecord(element) && Object.hasOwn(element, patchDirective)) continue;
      const key = mergeKey === undefined ? element : this.#keyOf(element, mergeKey);
      while (at < wanted.length && wanted[at] !== key) at++;
      if (at++ < wanted.length) continue;
      throw malformedPatch(
        this.#path(),
        `The order in patch list: ${shown(patch)} doesn't match $setElementOrder list: ${shown(order)}`,
      );
    }
  }

  /** `$deleteFromPrimitiveList`, whatever the strategy of the list. Absent scalars are ignored. */
  #deleteScalars(merged: Record<string, unknown>, name: string, scalars: readonly unknown[]): void {
    const current = getOwn(merged, name);
    if (scalars.some((each) => keyOf(each, undefined) === undefined)) throw badFormat('primitive list', this.#path());
    if (!Array.isArray(current)) return;
    if (current.some(isRecord)) throw badFormat('primitive list', this.#path());
    const deleted = new Set(scalars);
    setOwn(
      merged,
      name,
      current.filter((each) => !deleted.has(each)),
    );
  }

  #directiveOf(patch: JsonObject): 'replace' | 'delete' | undefined {
    if (!Object.hasOwn(patch, patchDirective)) return undefined;
    const directive = patch[patchDirective];
    if (directive === 'replace' || directive === 'delete') return directive;
    if (directive === 'merge') throw malformedPatch(this.#path(), 'merging lists cannot yet be specified in the patch');
    throw malformedPatch(this.#path(), `unknown patch type: ${shown(directive)} in map: ${shown(patch)}`);
  }

  #step<T>(step: string, run: () => T): T {
    this.#steps.push(step);
    const result = run();
    this.#steps.pop();
    return result;
  }

  /** `spec.containers[0]`. The stack is not unwound when an error ends the merge. */
  #path(): string {
    return this.#steps.reduce(joinPath, '');
  }
}

interface MergedObjects {
  readonly items: Schema;
  readonly mergeKey: string;
  readonly current: readonly unknown[];
  readonly patch: readonly unknown[];
}

interface SortedElements {
  readonly plain: readonly { readonly key: ElementKey; readonly element: JsonObject; readonly index: number }[];
  readonly deleted: ReadonlySet<ElementKey>;
  readonly replace: boolean;
}

/** The scalar that identifies an element: its merge key, or the element itself if there is no merge key. */
function keyOf(element: unknown, mergeKey: string | undefined): ElementKey | undefined {
  const key = mergeKey === undefined ? element : isRecord(element) ? getOwn(element, mergeKey) : undefined;
  return key === null || key === undefined || typeof key === 'object' ? undefined : (key as ElementKey);
}

const missingKey = (element: unknown, mergeKey: string): string =>
  isRecord(element)
    ? `map: ${shown(element)} does not contain declared merge key: ${mergeKey}`
    : `expected an object with the merge key ${mergeKey}, got ${typeName(element)}`;
