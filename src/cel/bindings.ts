import { getOrAdd } from '../base/collections/get-or-add.ts';
import { type CelType, dynType, typeName } from './type.ts';

/**
 * Bindings of the type parameters of signatures (`list(T)`) during type checking. Bindings of a failed attempt are
 * rolled back.
 */
export class Bindings {
  readonly #bound = new Map<string, CelType>();
  readonly #trail: (readonly [string, CelType | undefined])[] = [];
  #fresh = 0;

  /** The types with fresh parameters; occurrences of the same parameter map to the same fresh one. */
  instantiate(types: readonly CelType[]): readonly CelType[] {
    const names = new Map<string, CelType>();
    return types.map((type) => mapParams(type, (name) => getOrAdd(names, name, () => this.fresh())));
  }

  fresh(): CelType {
    return { kind: 'param', name: `T${this.#fresh++}` };
  }

  /** Whether values of the actual types are assignable to the expected ones; if so, keeps the bindings. */
  assignAll(expected: readonly CelType[], actual: readonly CelType[]): boolean {
    const before = this.#trail.length;
    if (expected.every((type, index) => this.#assign(type, actual[index] ?? dynType))) return true;
    this.#undo(before);
    return false;
  }

  assign(expected: CelType, actual: CelType): boolean {
    return this.assignAll([expected], [actual]);
  }

  /** The type with its bound parameters substituted; unbound parameters remain. */
  resolve(type: CelType): CelType {
    return mapParams(type, (name, param) => {
      const bound = this.#bound.get(name);
      return bound === undefined ? param : this.resolve(bound);
    });
  }

  /** As `resolve`, with unbound parameters replaced by `dyn`. */
  finalize(type: CelType): CelType {
    return mapParams(this.resolve(type), () => dynType);
  }

  #assign(expected: CelType, actual: CelType): boolean {
    if (expected.kind === 'param') return this.#assignToParam(expected.name, expected, actual);
    if (actual.kind === 'param') {
      const bound = this.#bound.get(actual.name);
      if (bound !== undefined) return this.#assign(expected, bound);
      return this.#bind(actual.name, expected);
    }
    if (expected.kind === 'dyn' || actual.kind === 'dyn') return true;
    if (expected.kind === 'null_type') return isNullable(actual);
    if (actual.kind === 'null_type') return isNullable(expected);
    return this.#assignParts(expected, actual);
  }

  #assignToParam(name: string, param: CelType, actual: CelType): boolean {
    const bound = this.#bound.get(name);
    if (bound === undefined) return this.#bind(name, actual);
    if (!this.#assign(bound, actual)) return false;
    if (isLessSpecific(actual, this.resolve(bound))) return this.#bind(name, actual) || param === actual;
    return true;
  }

  #assignParts(expected: CelType, actual: CelType): boolean {
    if (expected.kind === 'list') return actual.kind === 'list' && this.#assign(expected.element, actual.element);
    if (expected.kind === 'optional') return actual.kind === 'optional' && this.#assign(expected.value, actual.value);
    if (expected.kind === 'map') {
      return (
        actual.kind === 'map' && this.#assign(expected.key, actual.key) && this.#assign(expected.value, actual.value)
      );
    }
    return expected.kind === actual.kind && typeName(expected) === typeName(actual);
  }

  /** False if the parameter would be bound to a type that contains it. */
  #bind(name: string, type: CelType): boolean {
    const resolved = this.resolve(type);
    if (resolved.kind === 'param' && resolved.name === name) return true;
    if (mentions(resolved, name)) return false;
    this.#trail.push([name, this.#bound.get(name)]);
    this.#bound.set(name, resolved);
    return true;
  }

  #undo(length: number): void {
    for (const [name, previous] of this.#trail.splice(length).reverse()) {
      if (previous === undefined) this.#bound.delete(name);
      else this.#bound.set(name, previous);
    }
  }
}

/** Types of which null is also a value, as in kube-apiserver. */
const isNullable = (type: CelType): boolean =>
  ['null_type', 'struct', 'opaque', 'optional', 'duration', 'timestamp'].includes(type.kind);

/** Whether `type` leaves open what `other` specifies. */
function isLessSpecific(type: CelType, other: CelType): boolean {
  if (type.kind === 'dyn') return true;
  if (type.kind === 'list' && other.kind === 'list') return isLessSpecific(type.element, other.element);
  if (type.kind === 'optional' && other.kind === 'optional') return isLessSpecific(type.value, other.value);
  if (type.kind === 'map' && other.kind === 'map') {
    return isLessSpecific(type.key, other.key) || isLessSpecific(type.value, other.value);
  }
  return false;
}

const mentions = (type: CelType, name: string): boolean => {
  let found = false;
  mapParams(type, (each, param) => {
    found ||= each === name;
    return param;
  });
  return found;
};

function mapParams(type: CelType, replace: (name: string, param: CelType) => CelType): CelType {
  switch (type.kind) {
    case 'param':
      return replace(type.name, type);
    case 'list':
      return { kind: 'list', element: mapParams(type.element, replace) };
    case 'optional':
      return { kind: 'optional', value: mapParams(type.value, replace) };
    case 'map':
      return { kind: 'map', key: mapParams(type.key, replace), value: mapParams(type.value, replace) };
    default:
      return type;
  }
}
