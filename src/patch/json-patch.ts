import { jsonText } from '../base/json-text.ts';
import { limits } from '../base/limits.ts';
import { entityTooLarge, type StatusError } from '../meta/status-error.ts';
import { getOwn, isRecord, setOwn } from '../schema/own-property.ts';
import { arrayIndex, type JsonPointer, leadsInto, parsePointer } from './json-pointer.ts';
import { cloneJson, depthOf, jsonEqual } from './json-value.ts';
import { PatchBudget } from './patch-budget.ts';
import { doesNotApply, malformedPatch, shorten, shown, testFailure, typeName } from './patch-error.ts';

/*
 * JSON Patch (RFC 6902). Follows the RFC and passes its published test suite. One thing is laxer, as in
 * kube-apiserver, because clients rely on it: for `test`, an absent member of an object is null. kube-apiserver is laxer in
 * other places, each of which hides a mistake: `replace` can add a missing member; an absent member is null for `copy` and
 * `move`, and an absent `value` is null; negative array indexes count from the end; and `add` at the root is not supported.
 * A malformed operation is a 400 here, like a document that is not a list of operations; kube-apiserver returns 422.
 */

/** One validated operation of a patch (RFC 6902 section 4). */
type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: JsonPointer; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: JsonPointer }
  | { readonly op: 'move' | 'copy'; readonly path: JsonPointer; readonly from: JsonPointer };

interface Leniency {
  /** An absent `value` is null. */
  readonly valueMayBeAbsent?: boolean;
}

/**
 * Parses a decoded JSON Patch document. Throws BadRequest with the first invalid operation and member,
 * RequestEntityTooLarge above `limits.jsonPatchOperationsMax`. Ignores members that the RFC does not define.
 */
export function parseJsonPatch(document: unknown, leniency: Leniency = {}): readonly JsonPatchOperation[] {
  if (!Array.isArray(document)) throw malformedPatch('', `expected an array of operations, got ${typeName(document)}`);
  if (document.length > limits.jsonPatchOperationsMax) {
    throw entityTooLarge(
      `The allowed maximum operations in a JSON patch is ${limits.jsonPatchOperationsMax}, got ${document.length}`,
    );
  }
  return document.map((operation, index) => parseOperation(operation, index, leniency));
}

const members: ReadonlySet<string> = new Set(['op', 'path', 'from', 'value']);

/** Paths of unknown members of operations, `[3].vlaue`, for field validation; at most `limits.findingsMax`. */
export const unknownMembers = (document: readonly unknown[]): readonly string[] =>
  Iterator.from(document.entries())
    .flatMap(([index, operation]) =>
      Object.keys(isRecord(operation) ? operation : {})
        .filter((name) => !members.has(name))
        .map((name) => `[${index}].${name}`),
    )
    .take(limits.findingsMax)
    .toArray();

function parseOperation(operation: unknown, index: number, { valueMayBeAbsent }: Leniency): JsonPatchOperation {
  if (!isRecord(operation)) throw malformedPatch(`[${index}]`, `expected an object, got ${typeName(operation)}`);
  const op = getOwn(operation, 'op');
  switch (op) {
    case 'add':
    case 'replace':
    case 'test':
      if (!Object.hasOwn(operation, 'value') && !valueMayBeAbsent) {
        throw malformedPatch(`[${index}].value`, 'Required value');
      }
      return { op, path: parseMember(operation, 'path', index), value: operation.value ?? null };
    case 'remove':
      return { op, path: parseMember(operation, 'path', index) };
    case 'move':
    case 'copy':
      return { op, path: parseMember(operation, 'path', index), from: parseMember(operation, 'from', index) };
    case undefined:
      throw malformedPatch(`[${index}].op`, 'Required value');
    default:
      throw malformedPatch(
        `[${index}].op`,
        `Unsupported value: ${shown(op)}: supported values: "add", "copy", "move", "remove", "replace", "test"`,
      );
  }
}

function parseMember(operation: Record<string, unknown>, name: 'path' | 'from', index: number): JsonPointer {
  const text = getOwn(operation, name);
  const field = `[${index}].${name}`;
  if (text === undefined) throw malformedPatch(field, 'Required value');
  if (typeof text !== 'string') throw malformedPatch(field, `expected a string, got ${typeName(text)}`);
  const pointer = parsePointer(text, limits.depthMax);
  if ('problem' in pointer) throw malformedPatch(field, `Invalid value: ${shown(text)}: ${pointer.problem}`);
  return pointer;
}

/**
 * Applies the operations in order (RFC 6902 section 5). Neither the target nor the patch is modified; the result shares
 * the untouched parts of both. Throws Invalid with the operation that does not apply, in kube-apiserver's words;
 * RequestEntityTooLarge if the work exceeds `limits.patchStepsMax`.
 */
export function applyJsonPatch(target: unknown, operations: readonly JsonPatchOperation[]): unknown {
  const document = new PatchedDocument(target);
  for (const [index, operation] of operations.entries()) document.apply(operation, index);
  return document.root;
}

type Container = Record<string, unknown> | unknown[];

class PatchedDocument {
  root: unknown;
  /** Objects and arrays created here, which may be modified in place. The parent of an owned container is owned too. */
  readonly #owned = new Set<unknown>();
  readonly #budget = new PatchBudget();
  #copiedBytes = 0;
  /** Index of the current operation, for errors. */
  #index = 0;

  constructor(target: unknown) {
    this.root = target;
  }

  apply(operation: JsonPatchOperation, index: number): void {
    this.#index = index;
    switch (operation.op) {
      case 'add':
        this.#checkDepth(operation.path, operation.value);
        this.#add(operation.op, operation.path, operation.value);
        break;
      case 'remove':
        this.#remove(operation.op, operation.path);
        break;
      case 'replace':
        this.#replace(operation.path, operation.value);
        break;
      case 'move':
        this.#move(operation.from, operation.path);
        break;
      case 'copy':
        this.#copy(operation.from, operation.path);
        break;
      case 'test':
        this.#test(operation.path, operation.value);
        break;
    }
  }

  #add(op: 'add' | 'move' | 'copy', path: JsonPointer, value: unknown): void {
    const parent = this.#openParent(path);
    if (parent === 'none') this.root = value;
    else if (Array.isArray(parent)) this.#insert(op, parent, path, value);
    else if (parent) setOwn(parent, lastOf(path), value);
    else if (op === 'add') {
      throw this.#error(`add operation does not apply: doc is missing path: ${quoted(path)}: missing value`);
    } else {
      throw this.#error(
        `${op} operation does not apply: doc is missing destination path: ${plain(path)}: missing value`,
      );
    }
  }

  #insert(op: string, parent: unknown[], path: JsonPointer, value: unknown): void {
    const token = lastOf(path);
    if (token === '-') {
      parent.push(value);
      return;
    }
    const index = this.#indexIn(op, path, parent.length);
    this.#shift(parent.length - index);
    parent.splice(index, 0, value);
  }

  #remove(op: 'remove' | 'move', path: JsonPointer): void {
    const parent = this.#openParent(path);
    if (parent === 'none') throw this.#error('remove operation does not apply: the whole document cannot be removed');
    if (!parent) {
      throw this.#error(`remove operation does not apply: doc is missing path: ${quoted(path)}: missing value`);
    }
    const token = lastOf(path);
    if (Array.isArray(parent)) {
      const index = this.#indexIn(op, path, parent.length - 1);
      this.#shift(parent.length - index);
      parent.splice(index, 1);
    } else if (Object.hasOwn(parent, token)) delete parent[token];
    else {
      throw this.#error(
        `error in remove for path: '${plain(path)}': Unable to remove nonexistent key: ${shorten(token)}: missing value`,
      );
    }
  }

  #replace(path: JsonPointer, value: unknown): void {
    this.#checkDepth(path, value);
    const parent = this.#openParent(path);
    if (parent === 'none') this.root = value;
    else if (!parent) {
      throw this.#error(`replace operation does not apply: doc is missing path: ${plain(path)}: missing value`);
    } else if (childOf(parent, lastOf(path)) === undefined) {
      throw this.#error(`replace operation does not apply: doc is missing key: ${plain(path)}: missing value`);
    } else put(parent, lastOf(path), value);
  }

  #move(from: JsonPointer, path: JsonPointer): void {
    const value = this.#read(from);
    if (value === undefined) {
      throw this.#error(
        `move operation does not apply: doc is missing from path: ${plain(from)}: missing value`,
        'from',
      );
    }
    if (from.text === path.text) return;
    if (leadsInto(from, path)) {
      throw this.#error(`move operation does not apply: ${quoted(from)} cannot be moved into itself: ${quoted(path)}`);
    }
    if (path.tokens.length > from.tokens.length) this.#checkDepth(path, value);
    this.#remove('move', from);
    this.#add('move', path, value);
  }

  #copy(from: JsonPointer, path: JsonPointer): void {
    const value = this.#read(from);
    if (value === undefined) {
      throw this.#error(
        `copy operation does not apply: doc is missing from path: ${plain(from)}: missing value`,
        'from',
      );
    }
    this.#copiedBytes += Buffer.byteLength(jsonText(value));
    if (this.#copiedBytes > limits.jsonPatchCopyBytesMax) {
      throw this.#error(
        `Unable to complete the copy, the accumulated size increase of copy is ${this.#copiedBytes}, exceeding the limit ${limits.jsonPatchCopyBytesMax}`,
        'from',
      );
    }
    this.#checkDepth(path, value);
    this.#add('copy', path, cloneJson(value));
  }

  #test(path: JsonPointer, expected: unknown): void {
    const read = this.#read(path);
    const value = read === undefined ? this.#absentMember(path) : read;
    if (value === undefined) {
      throw this.#error(`test operation does not apply: is missing path: ${plain(path)}: missing value`);
    }
    if (!jsonEqual(value, expected, this.#budget)) {
      throw doesNotApply(`[${this.#index}].path`, `testing value ${plain(path)} failed: test failed`, testFailure);
    }
  }

  /** null if the path ends in an object, which need not have the member. */
  #absentMember({ tokens }: JsonPointer): null | undefined {
    return isRecord(this.#read({ tokens: tokens.slice(0, -1) })) ? null : undefined;
  }

  /** Undefined if the path does not exist. */
  #read({ tokens }: Pick<JsonPointer, 'tokens'>): unknown {
    let value = this.root;
    for (const token of tokens) value = childOf(value, token);
    return value;
  }

  /**
   * The object or array that holds the target of the path, copied along the way if not owned; 'none' for the root,
   * undefined if it does not exist.
   */
  #openParent({ tokens }: JsonPointer): Container | 'none' | undefined {
    if (tokens.length === 0) return 'none';
    let parent = this.#own(this.root);
    this.root = parent ?? this.root;
    for (const token of tokens.slice(0, -1)) {
      if (!parent) return undefined;
      const child = this.#own(childOf(parent, token));
      if (child) put(parent, token, child);
      parent = child;
    }
    return parent;
  }

  /** The container itself if owned, else a copy; undefined for scalars. */
  #own(value: unknown): Container | undefined {
    if (!Array.isArray(value) && !isRecord(value)) return undefined;
    if (this.#owned.has(value)) return value;
    const copy = Array.isArray(value) ? value.slice() : { ...value };
    this.#owned.add(copy);
    return copy;
  }

  #indexIn(op: string, path: JsonPointer, indexMax: number): number {
    const token = lastOf(path);
    const index = arrayIndex(token);
    const problem =
      index === undefined
        ? `value was not a proper array index: '${shorten(token)}'`
        : index > indexMax && `Unable to access invalid index: ${token}: invalid index referenced`;
    if (problem) throw this.#error(`error in ${op} for path: '${plain(path)}': ${problem}`);
    return index as number;
  }

  /** Shifting an element is cheap, but a patch can shift very many repeatedly. */
  #shift(elements: number): void {
    this.#budget.spend(elements >> 4);
  }

  /** Copies and moves must not nest deeper than a request body may. */
  #checkDepth(path: JsonPointer, value: unknown): void {
    if (path.tokens.length + depthOf(value, this.#budget) > limits.depthMax) {
      throw this.#error(`the result would have more than ${limits.depthMax} levels of nesting at ${quoted(path)}`);
    }
  }

  #error(problem: string, member: 'path' | 'from' = 'path'): StatusError {
    return doesNotApply(`[${this.#index}].${member}`, problem);
  }
}

const lastOf = ({ tokens }: JsonPointer): string => tokens[tokens.length - 1] ?? '';

const plain = ({ text }: JsonPointer): string => shorten(text);
const quoted = (pointer: JsonPointer): string => `"${plain(pointer)}"`;

/** Undefined if there is none. */
function childOf(parent: unknown, token: string): unknown {
  if (Array.isArray(parent)) {
    const index = arrayIndex(token);
    return index === undefined ? undefined : parent[index];
  }
  return isRecord(parent) ? getOwn(parent, token) : undefined;
}

/** Replaces an existing child. */
function put(parent: Container, token: string, value: unknown): void {
  if (Array.isArray(parent)) parent[Number(token)] = value;
  else setOwn(parent, token, value);
}
