import { limits } from '../base/limits.ts';
import { CelCompileError } from './error.ts';
import { type CelType, dynType, typeName } from './type.ts';

type Param = CelType & { readonly kind: 'param' };

/**
 * Bindings of the type parameters of signatures (`list(T)`) during type checking. Bindings of a failed attempt are
 * rolled back. Types of more than `limits.celTypePartsMax` parts throw CelCompileError: macros within macros could double
 * a type again and again.
 */
export class Bindings {
  readonly #bound = new Map<string, CelType>();
  readonly #trail: (readonly [string, CelType | undefined])[] = [];
  /** Parts of composed types without parameters, which mean the same whatever is bound. */
  readonly #closed = new Map<CelType, number>();
  #fresh = 0;
  #work = 0;
  #workMax = 0;

  /** Parts of types that were looked at up to now. */
  get work(): number {
    return this.#work;
  }

  /** The types with fresh parameters; occurrences of the same parameter map to the same fresh one. */
  instantiate(types: readonly CelType[]): readonly CelType[] {
    if (!types.some(mayHaveParams)) return types;
    let names: Map<string, CelType> | undefined;
    const fresh = ({ name }: Param): CelType => {
      names ??= new Map();
      const known = names.get(name) ?? this.fresh();
      names.set(name, known);
      return known;
    };
    return types.map((type) => this.#whole(type, fresh));
  }

  fresh(): CelType {
    return { kind: 'param', name: `T${this.#fresh++}` };
  }

  /** Whether values of the actual types are assignable to the expected ones; if so, keeps the bindings. */
  assignAll(expected: readonly CelType[], actual: readonly CelType[]): boolean {
    const before = this.#trail.length;
    for (const [index, type] of expected.entries()) {
      if (this.#assign(type, actual[index] ?? dynType)) continue;
      this.#undo(before);
      return false;
    }
    return true;
  }

  assign(expected: CelType, actual: CelType): boolean {
    const before = this.#trail.length;
    if (this.#assign(expected, actual)) return true;
    this.#undo(before);
    return false;
  }

  /** The type with its bound parameters substituted; unbound parameters remain. */
  resolve(type: CelType): CelType {
    return this.#whole(type, this.#value);
  }

  /** As `resolve`, with unbound parameters replaced by `dyn`. */
  finalize(type: CelType): CelType {
    return this.#whole(type, this.#valueOrDyn);
  }

  readonly #value = (param: Param): CelType => {
    const end = this.#follow(param);
    return end.kind === 'param' ? end : this.#replace(end, this.#value);
  };

  readonly #valueOrDyn = (param: Param): CelType => {
    const end = this.#follow(param);
    return end.kind === 'param' ? dynType : this.#replace(end, this.#valueOrDyn);
  };

  /** What a parameter stands for; the last one, if it stands for another parameter. */
  #follow(type: CelType): CelType {
    let end = type;
    for (;;) {
      const bound: CelType | undefined = end.kind === 'param' ? this.#bound.get(end.name) : undefined;
      if (bound === undefined) return end;
      end = bound;
    }
  }

  #assign(expected: CelType, actual: CelType): boolean {
    this.#work++;
    if (expected === actual) return true;
    if (expected.kind === 'param') return this.#assignToParam(expected, actual);
    if (actual.kind === 'param') {
      const end = this.#follow(actual);
      return end.kind === 'param' ? this.#bind(end, expected) : this.#assign(expected, end);
    }
    if (expected.kind === 'dyn' || actual.kind === 'dyn') return true;
    if (expected.kind === 'null_type') return isNullable(actual);
    if (actual.kind === 'null_type') return isNullable(expected);
    return this.#assignParts(expected, actual);
  }

  #assignToParam(param: Param, given: CelType): boolean {
    const end = this.#last(param);
    const bound = this.#bound.get(end.name);
    if (bound === undefined) {
      const actual = this.#follow(given);
      return actual.kind === 'param' ? this.#unite(end, actual) : this.#bind(end, actual);
    }
    if (!this.#assign(bound, given)) return false;
    if (this.#isLessSpecific(given, this.resolve(bound))) return this.#bind(end, given) || given === param;
    return true;
  }

  /** The last parameter on the way from this one. */
  #last(param: Param): Param {
    let end = param;
    for (;;) {
      const bound = this.#bound.get(end.name);
      if (bound?.kind !== 'param') return end;
      end = bound;
    }
  }

  /** The younger one stands for the older one: long lists of lists without elements have one parameter at the end. */
  #unite(one: Param, other: Param): boolean {
    const [older, younger] = Number(one.name.slice(1)) < Number(other.name.slice(1)) ? [one, other] : [other, one];
    return older.name === younger.name || this.#bind(younger, older);
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
  #bind({ name }: Param, type: CelType): boolean {
    const resolved = this.resolve(type);
    if (resolved.kind === 'param' && resolved.name === name) return true;
    if (this.#mentions(resolved, name)) return false;
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

  /** Whether `type` leaves open what `other` specifies. */
  #isLessSpecific(type: CelType, other: CelType): boolean {
    this.#work++;
    if (type.kind === 'dyn') return true;
    if (type === other) return false;
    if (type.kind === 'list' && other.kind === 'list') return this.#isLessSpecific(type.element, other.element);
    if (type.kind === 'optional' && other.kind === 'optional') return this.#isLessSpecific(type.value, other.value);
    if (type.kind === 'map' && other.kind === 'map') {
      return this.#isLessSpecific(type.key, other.key) || this.#isLessSpecific(type.value, other.value);
    }
    return false;
  }

  #mentions(type: CelType, name: string): boolean {
    let found = false;
    this.#whole(type, (param) => {
      found ||= param.name === name;
      return param;
    });
    return found;
  }

  #whole(type: CelType, by: (param: Param) => CelType): CelType {
    this.#workMax = this.#work + limits.celTypePartsMax;
    return this.#replace(type, by);
  }

  /** The type with other types in place of parameters; the type itself if that changes nothing. */
  #replace(type: CelType, by: (param: Param) => CelType): CelType {
    if (++this.#work > this.#workMax) throw tooLarge();
    switch (type.kind) {
      case 'param':
        return by(type);
      case 'list': {
        if (this.#closed.has(type)) return type;
        const element = this.#replace(type.element, by);
        if (element !== type.element) return { kind: 'list', element };
        return this.#unchanged(type, this.#sizeOf(element));
      }
      case 'optional': {
        if (this.#closed.has(type)) return type;
        const value = this.#replace(type.value, by);
        if (value !== type.value) return { kind: 'optional', value };
        return this.#unchanged(type, this.#sizeOf(value));
      }
      case 'map': {
        if (this.#closed.has(type)) return type;
        const [key, value] = [this.#replace(type.key, by), this.#replace(type.value, by)];
        if (key !== type.key || value !== type.value) return { kind: 'map', key, value };
        return this.#unchanged(type, this.#sizeOf(key) + this.#sizeOf(value));
      }
      default:
        return type;
    }
  }

  /** Remembers the type if its parts have no parameters. */
  #unchanged(type: CelType, partsSize: number): CelType {
    if (Number.isNaN(partsSize)) return type;
    if (partsSize >= limits.celTypePartsMax) throw tooLarge();
    this.#closed.set(type, partsSize + 1);
    return type;
  }

  /** NaN if the type has parameters. */
  #sizeOf(type: CelType): number {
    switch (type.kind) {
      case 'param':
        return Number.NaN;
      case 'list':
      case 'map':
      case 'optional':
        return this.#closed.get(type) ?? Number.NaN;
      default:
        return 1;
    }
  }
}

const mayHaveParams = ({ kind }: CelType): boolean =>
  kind === 'param' || kind === 'list' || kind === 'map' || kind === 'optional';

const tooLarge = (): CelCompileError => new CelCompileError(`type of more than ${limits.celTypePartsMax} parts`);

/** Types of which null is also a value, as in kube-apiserver. */
const isNullable = (type: CelType): boolean =>
  ['null_type', 'struct', 'opaque', 'optional', 'duration', 'timestamp'].includes(type.kind);
