import { getOrAdd } from '../../base/collections/get-or-add.ts';
import { type Field, type Schema, type StructSchema, schemaOf } from '../schema.ts';

/** By ObjectMeta's schema. */
const plain = new WeakMap<StructSchema, StructSchema>();

/**
 * The schema of the metadata of an embedded object: ObjectMeta, of which nothing is written that the client omitted, with
 * the defaults, constraints and rules of the `declared` schema.
 */
export function embeddedMetadata(objectMeta: StructSchema, declared: Schema | undefined): StructSchema {
  const metadata = getOrAdd(plain, objectMeta, () => onlyWhatIsSent(objectMeta));
  return declared?.type === 'struct' ? combineStructs(metadata, declared) : metadata;
}

const onlyWhatIsSent = (struct: StructSchema): StructSchema => ({
  ...struct,
  fields: Object.fromEntries(
    Object.entries(struct.fields).map(([name, field]): [string, Field] => [
      name,
      field.presence === 'always' ? { ...field, presence: 'explicit' } : field,
    ]),
  ),
});

/** The types of `base` with the assertions of `declared`. */
function combine(base: Schema, declared: Schema): Schema {
  if (declared.type === 'struct' && base.type === 'struct') return combineStructs(base, declared);
  const assertions = assertionsOf(declared);
  if (declared.type !== 'struct' || base.type !== 'map') return { ...base, ...assertions };
  const fields = Object.entries(declared.fields).map(([name, field]): [string, Field] => [
    name,
    { ...field, schema: combine(base.values, schemaOf(field)) },
  ]);
  return {
    type: 'struct',
    name: '',
    fields: Object.fromEntries(fields),
    additional: base.values,
    structType: base.mapType,
    ...assertions,
  };
}

function combineStructs(base: StructSchema, declared: StructSchema): StructSchema {
  const fields = Object.entries(base.fields).map(([name, field]): [string, Field] => {
    const other = Object.hasOwn(declared.fields, name) ? declared.fields[name] : undefined;
    if (!other) return [name, field];
    const initial = other.default === undefined ? undefined : { default: other.default };
    return [name, { ...field, ...initial, schema: combine(schemaOf(field), schemaOf(other)) }];
  });
  return { ...base, fields: Object.fromEntries(fields), ...assertionsOf(declared) };
}

const assertionsOf = ({ constraint, rules }: Schema): Pick<Schema, 'constraint' | 'rules'> => ({
  ...(constraint && { constraint }),
  ...(rules && { rules }),
});
