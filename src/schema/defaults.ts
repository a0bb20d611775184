import { someField } from './nested-schemas.ts';
import { getOwn, isRecord, setOwn } from './own-property.ts';
import { type Field, type Schema, type StructSchema, schemaOf } from './schema.ts';

/**
 * Sets the schema's defaults on absent fields of a decoded value, in place, at any depth. Fields that are present keep
 * their value, including null. An absent struct without a default of its own stays absent. Each default is a fresh copy.
 */
export function applyDefaults(schema: Schema, value: unknown): void {
  fillerOf(schema)?.(value);
}

/** Applies the defaults of one schema to `value`, which must conform to it. */
type Filler = (value: unknown) => void;

const fillers = new WeakMap<Schema, { readonly fill: Filler | undefined }>();

/** Undefined if the schema has no defaults at any depth. */
function fillerOf(schema: Schema): Filler | undefined {
  let filler = fillers.get(schema);
  if (!filler) {
    const needed = someField(schema, (field) => field.default !== undefined);
    filler = { fill: needed ? compile(schema) : undefined };
    fillers.set(schema, filler);
  }
  return filler.fill;
}

function compile(schema: Schema): Filler | undefined {
  switch (schema.type) {
    case 'struct':
      return compileStruct(schema);
    case 'list': {
      const fill = fillerOf(schema.items);
      return fill && ((value) => Array.isArray(value) && value.forEach(fill));
    }
    case 'map': {
      const fill = fillerOf(schema.values);
      return fill && ((value) => isRecord(value) && Object.values(value).forEach(fill));
    }
    default:
      return undefined;
  }
}

interface FieldFiller {
  readonly name: string;
  /** JSON text of the default; undefined if the field has none. */
  readonly initial: string | undefined;
  readonly fill: Filler | undefined;
}

function compileStruct(struct: StructSchema): Filler {
  // Compiled on first use, because structs may be recursive.
  let fields: readonly FieldFiller[] | undefined;
  const { additional } = struct;
  return (value) => {
    if (!isRecord(value)) return;
    fields ??= fieldFillers(struct);
    for (const { name, initial, fill } of fields) {
      let part = getOwn(value, name);
      if (part === undefined && initial !== undefined) {
        part = JSON.parse(initial);
        setOwn(value, name, part);
      }
      if (part !== undefined) fill?.(part);
    }
    if (typeof additional === 'object') fillOthers(struct, fillerOf(additional), value);
  };
}

function fillOthers({ fields }: StructSchema, fill: Filler | undefined, value: Record<string, unknown>): void {
  if (!fill) return;
  for (const key of Object.keys(value)) if (!Object.hasOwn(fields, key)) fill(value[key]);
}

const fieldFillers = (struct: StructSchema): readonly FieldFiller[] =>
  Object.entries(struct.fields)
    .map(([name, field]) => ({ name, initial: defaultText(field), fill: fillerOf(schemaOf(field)) }))
    .filter(({ initial, fill }) => initial !== undefined || fill !== undefined);

const defaultText = (field: Field): string | undefined =>
  field.default === undefined ? undefined : JSON.stringify(field.default);
