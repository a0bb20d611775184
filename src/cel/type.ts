/**
 * The types of the Common Expression Language (https://github.com/google/cel-spec, langdef, "Values"), as used by the
 * checker and for declaring variables.
 */
export type CelType =
  | { readonly kind: PlainKind }
  | { readonly kind: 'list'; readonly element: CelType }
  | { readonly kind: 'map'; readonly key: CelType; readonly value: CelType }
  | { readonly kind: 'optional'; readonly value: CelType }
  | StructType
  /** A type that only functions produce and accept: a URL, a quantity. */
  | { readonly kind: 'opaque'; readonly name: string }
  /** A type parameter within a function's signature. */
  | { readonly kind: 'param'; readonly name: string };

interface StructType {
  readonly kind: 'struct';
  readonly name: string;
  readonly fields: Readonly<Record<string, CelType>>;
  /** Fields are computed when they are read, which may take long: the value is a CelLazyMap. */
  readonly lazy?: true;
}

type PlainKind =
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'null_type'
  | 'duration'
  | 'timestamp'
  | 'type'
  /** Known only at evaluation. */
  | 'dyn';

export const boolType: CelType = { kind: 'bool' };
export const intType: CelType = { kind: 'int' };
export const uintType: CelType = { kind: 'uint' };
export const doubleType: CelType = { kind: 'double' };
export const stringType: CelType = { kind: 'string' };
export const bytesType: CelType = { kind: 'bytes' };
export const nullType: CelType = { kind: 'null_type' };
export const durationType: CelType = { kind: 'duration' };
export const timestampType: CelType = { kind: 'timestamp' };
export const typeType: CelType = { kind: 'type' };
export const dynType: CelType = { kind: 'dyn' };
/** The type of an expression with an error: the checker goes on as if it were known at evaluation. */
export const errorType: CelType = { kind: 'dyn' };

export const listType = (element: CelType): CelType => ({ kind: 'list', element });
export const mapType = (key: CelType, value: CelType): CelType => ({ kind: 'map', key, value });
export const optionalType = (value: CelType): CelType => ({ kind: 'optional', value });
export const opaqueType = (name: string): CelType & { readonly kind: 'opaque' } => ({ kind: 'opaque', name });
export const paramType = (name: string): CelType => ({ kind: 'param', name });

/**
 * An object with declared fields. Selecting any other field is a compile error; selecting a declared field that the
 * value lacks is an evaluation error, which `has()` can avoid.
 */
export const structType = (name: string, fields: Readonly<Record<string, CelType>>): CelType => ({
  kind: 'struct',
  name,
  fields,
});

/** The type of a result, as messages name it. */
export const resultTypeName = (type: CelType): string => (type.kind === 'null_type' ? type.kind : typeName(type));

/** The type as shown in messages: `map(string, list(string))`. */
export function typeName(type: CelType): string {
  switch (type.kind) {
    case 'list':
      return `list(${typeName(type.element)})`;
    case 'map':
      return `map(${typeName(type.key)}, ${typeName(type.value)})`;
    case 'optional':
      return `optional_type(${typeName(type.value)})`;
    case 'struct':
    case 'opaque':
    case 'param':
      return type.name;
    case 'null_type':
      return 'null';
    default:
      return type === errorType ? '!error!' : type.kind;
  }
}
