import type { Schema, StructSchema } from '../schema.ts';
import { schemaOf } from '../schema.ts';
import { escapedName } from './escaped-name.ts';

/** What expressions see of a schema (KEP-2876). Values without a type, and names that cannot be escaped, are invisible. */

/** A property of an object. */
export interface VisibleField {
  /** As the object has it. */
  readonly name: string;
  readonly schema: Schema;
  readonly hasDefault: boolean;
}

const text: Schema = { type: 'string', structural: true };

const optional = { required: false, presence: 'explicit' } as const;

/** Of all metadata, expressions see the names only. */
const visibleMetadata: StructSchema = {
  type: 'struct',
  name: '',
  structType: 'granular',
  structural: true,
  fields: { name: { schema: text, ...optional }, generateName: { schema: text, ...optional } },
};

const fieldSchema = ({ fields: declared }: StructSchema, name: string): Schema | undefined => {
  const field = Object.hasOwn(declared, name) ? declared[name] : undefined;
  return field && schemaOf(field);
};

/** A text with the rules of a field, of which expressions see nothing else. */
const ruledText = (struct: StructSchema, name: string): Schema => withRules(text, fieldSchema(struct, name)?.rules);

const withRules = <T extends Schema>(schema: T, rules: Schema['rules']): T => (rules ? { ...schema, rules } : schema);

/** The visible metadata of an object, with its rules. */
function metadataOf(struct: StructSchema): StructSchema {
  const metadata = fieldSchema(struct, 'metadata');
  if (metadata?.type !== 'struct') return visibleMetadata;
  const name = { schema: ruledText(metadata, 'name'), ...optional };
  const generateName = { schema: ruledText(metadata, 'generateName'), ...optional };
  return withRules({ ...visibleMetadata, fields: { name, generateName } }, metadata.rules);
}

const roots = new WeakMap<StructSchema, StructSchema>();

/** The schema of an object with `apiVersion`, `kind` and `metadata`: the root of a resource, or an embedded object. */
export function asRoot(struct: StructSchema): StructSchema {
  let root = roots.get(struct);
  if (!root) {
    const { apiVersion, kind, metadata, ...fields } = struct.fields;
    root = {
      ...struct,
      embedded: false,
      fields: {
        ...fields,
        apiVersion: { schema: ruledText(struct, 'apiVersion'), ...optional },
        kind: { schema: ruledText(struct, 'kind'), ...optional },
        metadata: { schema: metadataOf(struct), ...optional },
      },
    };
    roots.set(struct, root);
  }
  return root;
}

/** Whether values of the schema are visible: their type must be known. */
export function isVisible(schema: Schema): boolean {
  switch (schema.type) {
    case 'any':
      return schema.of === 'object';
    case 'quantity':
      return false;
    case 'list':
      return isVisible(schema.items);
    case 'map':
      return isBare(schema.values) || isVisible(schema.values);
    default:
      return true;
  }
}

/** Values of `additionalProperties: true`: an object without fields. */
export const isBare = (schema: Schema): boolean => schema.type === 'any' && schema.of === 'bare';

const fields = new WeakMap<StructSchema, ReadonlyMap<string, VisibleField>>();

/** The visible properties by their names in expressions. */
export function visibleFields(struct: StructSchema): ReadonlyMap<string, VisibleField> {
  let visible = fields.get(struct);
  if (!visible) {
    visible = new Map(visibleFieldsOf(struct.embedded ? asRoot(struct) : struct));
    fields.set(struct, visible);
  }
  return visible;
}

/** All properties that have a type, by their names in expressions. */
export const declaredFields = (struct: StructSchema): ReadonlyMap<string, VisibleField> =>
  new Map(visibleFieldsOf(struct));

function* visibleFieldsOf(struct: StructSchema): Generator<[string, VisibleField]> {
  for (const [name, field] of Object.entries(struct.fields)) {
    const schema = schemaOf(field);
    const escaped = escapedName(name);
    if (escaped !== undefined && isVisible(schema)) {
      yield [escaped, { name, schema, hasDefault: field.default !== undefined }];
    }
  }
}
