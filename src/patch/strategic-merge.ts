import { joinPath } from '../schema/field-path.ts';
import { getOwn, isRecord, setOwn } from '../schema/own-property.ts';
import { type ListSchema, type Schema, type StructSchema, schemaOf } from '../schema/schema.ts';
import { Effort } from './effort.ts';
import { arrange, type ElementKey } from './element-order.ts';
import { badFormat, isDirective, type PatchedObject, patchDirective, readDirectives } from './patch-directives.ts';
import { doesNotApply, malformedPatch, shown, typeName } from './patch-error.ts';

/**
 * Strategic merge patch (spec section 4.6): like a JSON merge patch, but the schema says which lists are merged, by
 * which key of their elements (`patchStrategy`, `patchMergeKey`), and directives say what a merge cannot:
 *
 * - `$patch: replace` in an object: it is replaced by the rest of the patch; in an element of a merged list: the list is
 *   replaced by the other elements. `$patch: delete` in an object empties it; in an element, with its merge key, it
 *   removes all elements with that key.
 * - `$retainKeys: [...]`: fields that it does not name are removed; the patch must not set others.
 * - `$setElementOrder/<list>: [...]`: the order of the elements, which must have those of the patch in the same order.
 * - `$deleteFromPrimitiveList/<list>: [...]`: scalars to be removed from the list, after any that are added.
 *
 * Fields that the schema does not know are merged as JSON and left for decoding to report. Neither `original` nor `patch`
 * is changed; the result shares with both what the other did not touch.
 *
 * What the patch puts where there was nothing, or in the place of something, is taken without nulls and directives;
 * there, an object with `$patch` in it is left out, as published servers do even for `replace`. They are not as thorough
 * inside of lists and of replaced objects, where directives become fields. With an empty
 * `$setElementOrder` the list keeps its order, and new elements come last.
 *
 * Throws BadRequest (400) where the patch is wrong for its schema, Invalid (422) where the object cannot take it.
 * Published servers say 500 for most of these, in the same words.
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

/** What the schema says of a field; no schema where it does not know it. */
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

/** One run: where it is, for errors, and what it has cost. */
class StrategicMerge {
  readonly #steps: string[] = [];
  readonly #effort = new Effort();

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

  /** A copy of the original with only the fields that are retained. */
  #retain(original: JsonObject, retained: PatchedObject['retained']): Record<string, unknown> {
    this.#effort.spend(Object.keys(original).length);
    const merged = { ...original };
    if (retained) for (const name of Object.keys(merged)) if (!retained.has(name)) delete merged[name];
    return merged;
  }

  /** The value that a field has after the patch; undefined for none. `value` is not null. */
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

  /** A value of the patch without nulls and directives; undefined for an object that has `$patch` in it. */
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
    this.#effort.spend(current.length + patch.length);
    if (current.length === 0 && patch.length === 0) return current;
    const mergeKey = this.#checkElements(schema, current, patch);
    const merged =
      mergeKey === undefined
        ? this.#scalars(current, patch)
        : this.#objects({ items: schema.items, mergeKey, current, patch });
    return merged.map(({ value }) => value);
  }

  /** All elements of a merged list are of one type, and objects have a merge key; gives that key for objects. */
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

  /** Takes the elements of the patch of a list apart by their directives. */
  #sort(patch: readonly unknown[], mergeKey: string): SortedElements {
    const plain: { key: ElementKey; element: JsonObject; index: number }[] = [];
    const deleted = new Set<ElementKey>();
    let replace = false;
    for (const [index, each] of patch.entries()) {
      this.#steps.push(`[${index}]`);
      const element = each as JsonObject;
      // What is no object has no key, and is refused for that.
      const directive = isRecord(each) ? this.#directiveOf(each) : undefined;
      if (directive === 'replace') replace = true;
      else if (directive === 'delete') deleted.add(this.#keyOf(element, mergeKey));
      else plain.push({ key: this.#keyOf(element, mergeKey), element, index });
      this.#steps.pop();
    }
    return { plain, deleted, replace };
  }

  /** The merge key of an element of the patch. */
  #keyOf(element: unknown, mergeKey: string): ElementKey {
    const key = keyOf(element, mergeKey);
    if (key === undefined) throw malformedPatch(this.#path(), missingKey(element, mergeKey));
    return key;
  }

  /** Elements of the list as it is, or has become. */
  #elementsOf(list: readonly unknown[], mergeKey: string | undefined): Element[] {
    return list.map((value) => {
      const key = keyOf(value, mergeKey);
      if (key !== undefined) return { key, value };
      const problem =
        mergeKey === undefined ? `expected a list of scalars, got ${typeName(value)}` : missingKey(value, mergeKey);
      throw doesNotApply(this.#path(), problem);
    });
  }

  /** `$setElementOrder`: merges the list and puts it in order; `fields` loses the field. */
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
    this.#effort.spend(list.length + order.length);
    const before = this.#keysBefore(current ?? [], patch ?? [], mergeKey);
    const arranged = arrange(this.#elementsOf(list, mergeKey), wanted, before);
    setOwn(
      merged,
      name,
      arranged.map(({ value }) => value),
    );
  }

  /**
   * The order of the list as it was, for `$setElementOrder`. In the place of elements that the patch deletes, as many that
   * it adds count as having stood at the end: new elements come behind the server's own where others go. Published
   * servers came to that by accident, and test for it.
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

  /** The elements that the patch sets stand in the order, and one after another as there. */
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

  /** `$deleteFromPrimitiveList`, whatever the strategy of the list; what is not there is left alone. */
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

  /** `spec.containers[0]`. Steps are left standing when an error ends the run. */
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

/** The scalar that tells an element apart: its merge key, or without one the element itself. */
function keyOf(element: unknown, mergeKey: string | undefined): ElementKey | undefined {
  const key = mergeKey === undefined ? element : isRecord(element) ? getOwn(element, mergeKey) : undefined;
  return key === null || key === undefined || typeof key === 'object' ? undefined : (key as ElementKey);
}

const missingKey = (element: unknown, mergeKey: string): string =>
  isRecord(element)
    ? `map: ${shown(element)} does not contain declared merge key: ${mergeKey}`
    : `expected an object with the merge key ${mergeKey}, got ${typeName(element)}`;
