import { getOrAdd } from '../base/collections/get-or-add.ts';
import { type Field, isScalar, type StructSchema, schemaOf } from './schema.ts';

/** What several compilers ask of all fields of a struct. */
interface FieldLists {
  /** In the order of the schema. */
  readonly names: readonly string[];
  /** Fields with presence `always`. */
  readonly always: ReadonlySet<string>;
  readonly defaulted: readonly string[];
  /** Fields that have parts. */
  readonly containers: readonly string[];
}

const known = new WeakMap<StructSchema['fields'], FieldLists>();

/** The names of the fields in the order in which they are checked. */
export function checkOrder({ fields, checkedFirst = [] }: StructSchema): readonly string[] {
  const names = Object.keys(fields);
  return checkedFirst.length === 0 ? names : [...checkedFirst, ...names.filter((name) => !checkedFirst.includes(name))];
}

/** Found once: a struct may have tens of thousands of fields. */
export const fieldListsOf = ({ fields }: StructSchema): FieldLists => getOrAdd(known, fields, () => listsOf(fields));

/** Whether a default is written into objects. One that is the zero value of a field is not, where the field is absent then. */
const isFilled = ({ default: initial, presence }: Field): boolean =>
  initial !== undefined && !(presence === 'implicit' && (initial === '' || initial === 0 || initial === false));

function listsOf(fields: StructSchema['fields']): FieldLists {
  const names = Object.keys(fields);
  const always = new Set<string>();
  const [defaulted, containers]: [string[], string[]] = [[], []];
  for (const name of names) {
    const field = fields[name] as Field;
    if (field.presence === 'always') always.add(name);
    if (isFilled(field)) defaulted.push(name);
    if (!isScalar(schemaOf(field))) containers.push(name);
  }
  return { names, always, defaulted, containers };
}
