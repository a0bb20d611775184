import { getOwn, isRecord, setOwn } from './own-property.ts';
import { type Field, type Schema, type StructSchema, schemaOf } from './schema.ts';
import { someField } from './within.ts';

/**
 * Gives absent fields the defaults that the schema has for them, in every struct that is there, through lists and maps.
 * Changes the value, which must have been decoded. A field that is there keeps what it has, null included; a struct
 * that is absent and has no default itself stays absent. Each default is a copy.
 */
export function applyDefaults(schema: Schema, value: unknown): void {
  fillerOf(schema)?.(value);
}

/** `value` is one of the schema's. */
type Filler = (value: unknown) => void;

const fillers = new WeakMap<Schema, { readonly fill: Filler | undefined }>();

/** Undefined where nothing within has a default. */
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
  /** JSON text; undefined where the field has no default. */
  readonly initial: string | undefined;
  readonly fill: Filler | undefined;
}

function compileStruct(struct: StructSchema): Filler {
  // Made on first use, since structs may hold themselves.
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
