import type { FieldError } from '../meta/field-error.ts';
import { goQuantity } from '../meta/go-values.ts';
import { getOwn, isRecord } from './own-property.ts';
import { type Field, type Schema, type StructSchema, schemaOf } from './schema.ts';

/**
 * How a Go struct differs from what its schema says. kube-apiserver validates objects in a form without a version, whose
 * structs may have other fields than the served ones, in another order.
 */
export interface GoForm {
  /** Names of the fields in Go's order; without it, those of the schema. Fields that it leaves out are not shown. */
  readonly order?: readonly string[];
  /** Names in Go that do not follow from those of the schema. */
  readonly names?: Readonly<Record<string, string>>;
  /** Types of pointers to named strings. */
  readonly types?: Readonly<Record<string, string>>;
  /** Fields that are pointers in the schema and values in Go. */
  readonly values?: readonly string[];
  /** The struct that is embedded, with all fields but those `beside` it, which stand before or after it. */
  readonly embedded?: { readonly type: string; readonly beside: 'first' | 'last' };
}

/** An error that shows its value as Go prints it; unchanged if the value is null or absent. */
export const shownAsGo = (error: FieldError, schema: Schema, forms?: GoForms): FieldError =>
  error.value === undefined || error.value === null ? error : { ...error, shown: goText(schema, error.value, forms) };

/** By the name of the struct: `api.core.v1.Volume`. */
export type GoForms = Readonly<Record<string, GoForm>>;

const noForms: GoForms = {};

/**
 * A value as Go prints it (`%#v`), which is how kube-apiserver shows structs in errors. Two things cannot be known from a
 * schema: the addresses of pointers, which all are 0xc000000000 here, and what `forms` says.
 */
export function goText(schema: Schema, value: unknown, forms: GoForms = noForms): string {
  switch (schema.type) {
    case 'integer':
    case 'number':
      return String(value ?? 0);
    case 'boolean':
      return String(value ?? false);
    case 'time':
      return timeText(value);
    case 'quantity':
      return goQuantity(String(value ?? '0'));
    case 'intOrString':
      return typeof value === 'string'
        ? `intstr.IntOrString{Type:1, IntVal:0, StrVal:${JSON.stringify(value)}}`
        : `intstr.IntOrString{Type:0, IntVal:${value ?? 0}, StrVal:""}`;
    case 'list':
      return Array.isArray(value) && value.length > 0
        ? `${goType(schema)}{${value.map((item) => goText(schema.items, item, forms)).join(', ')}}`
        : `${goType(schema)}(nil)`;
    case 'map':
      return isRecord(value)
        ? `${goType(schema)}{${entriesText(schema.values, value, forms)}}`
        : `${goType(schema)}(nil)`;
    case 'struct':
      return `${goType(schema)}{${fieldsText(schema, isRecord(value) ? value : {}, forms)}}`;
    default:
      return JSON.stringify(value ?? '');
  }
}

const entriesText = (values: Schema, entries: Readonly<Record<string, unknown>>, forms: GoForms): string =>
  Object.keys(entries)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${goText(values, entries[key], forms)}`)
    .join(', ');

function fieldsText(struct: StructSchema, value: Readonly<Record<string, unknown>>, forms: GoForms): string {
  const form = forms[struct.name] ?? {};
  const texts = (form.order ?? Object.keys(struct.fields)).flatMap((name) => {
    const field = struct.fields[name];
    if (!field) return [];
    const shown = embeddedName(field) ?? form.names?.[name] ?? goName(name);
    const part = getOwn(value, name) ?? undefined;
    const text = form.values?.includes(name)
      ? goText(schemaOf(field), part, forms)
      : fieldText(field, part, form.types?.[name], forms);
    return [`${shown}:${text}`];
  });
  if (!form.embedded) return texts.join(', ');
  const { type, beside } = form.embedded;
  const own = beside === 'first' ? texts.shift() : texts.pop();
  const inner = `${type}:core.${type}{${texts.join(', ')}}`;
  return (beside === 'first' ? [own, inner] : [inner, own]).join(', ');
}

/** Metadata is embedded, and so named by its type. */
function embeddedName(field: Field): string | undefined {
  const schema = schemaOf(field);
  return schema.type === 'struct' && schema.name.endsWith('.ObjectMeta') ? 'ObjectMeta' : undefined;
}

function fieldText(field: Field, value: unknown, type: string | undefined, forms: GoForms): string {
  const schema = schemaOf(field);
  const isPointer = field.presence === 'explicit' && !field.required && schema.type !== 'list' && schema.type !== 'map';
  if (!isPointer) return goText(schema, value, forms);
  // Times know how to print themselves, by a pointer too.
  if (schema.type === 'time') return value === undefined ? '<nil>' : timeText(value);
  return `(*${type ?? goType(schema)})(${value === undefined ? 'nil' : '0xc000000000'})`;
}

/** The zero time has no zone of its own. */
function timeText(value: unknown): string {
  if (typeof value !== 'string') return 'time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)';
  const date = new Date(value);
  const parts = [date.getUTCDate(), date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()];
  return `time.Date(${date.getUTCFullYear()}, time.${months[date.getUTCMonth()]}, ${parts.join(', ')}, 0, time.Local)`;
}

const months = 'January February March April May June July August September October November December'.split(' ');

function goType(schema: Schema): string {
  switch (schema.type) {
    case 'integer':
      return schema.format;
    case 'number':
      return 'float64';
    case 'boolean':
      return 'bool';
    case 'time':
      return schema.precision === 'micro' ? 'v1.MicroTime' : 'v1.Time';
    case 'quantity':
      return 'resource.Quantity';
    case 'intOrString':
      return 'intstr.IntOrString';
    case 'bytes':
      return '[]uint8';
    case 'list':
      return `[]${goType(schema.items)}`;
    case 'map':
      return schema.values.type === 'quantity' ? 'core.ResourceList' : `map[string]${goType(schema.values)}`;
    case 'struct':
      return structType(schema.name);
    default:
      return 'string';
  }
}

/** `api.core.v1.Taint` is `core.Taint`: objects are validated in a form without a version. Types of all kinds keep theirs. */
function structType(name: string): string {
  const parts = name.split('.');
  return `${name.startsWith('api.') ? parts[1] : parts.at(-2)}.${parts.at(-1)}`;
}

/** The name of a field in Go: an initialism at its beginning is in capitals. */
const goName = (name: string): string =>
  name.replace(initialisms, (found) => found.toUpperCase()).replace(/^[a-z]/, (first) => first.toUpperCase());

const initialisms =
  /^(?:api|aws|cpu|csi|dns|fc|fs|gce|grpc|http|id|ip|iscsi|nfs|os|rbd|tcp|tls|tty|ttl|uid|uri|url|wwids)(?=$|[A-Z])/;
