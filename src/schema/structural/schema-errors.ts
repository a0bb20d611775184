import { schemaExtensions } from '../../dialect/schema-extensions.ts';
import { type FieldError, forbidden, invalid, notSupported, notSupportedOf, required } from '../../meta/field-error.ts';
import { BoundedErrors } from './bounded-errors.ts';
import {
  additionalOf,
  anyTextOf,
  hasSchemas,
  isTrue,
  type JsonSchema,
  memberOf,
  namedSchemaIn,
  namedSchemasIn,
  schemaIn,
  schemasIn,
  textOf,
  textsOf,
} from './json-schema.ts';
import { ruleTextErrors } from './rule-text-errors.ts';

/** Where a schema stands. */
interface Place {
  readonly path: string;
  readonly isRoot?: true;
  /** Within the metadata, apiVersion or kind of an object. */
  readonly insideMeta: boolean;
  /** Why there may be no defaults. */
  readonly defaultsForbidden?: string;
}

/**
 * What published servers refuse in a schema, whether it is structural or not: keywords that are not supported, types that do
 * not exist, extensions that contradict each other. Messages and paths are those of kube-apiserver 1.32.
 */
export function schemaErrors(schema: JsonSchema, path: string): readonly FieldError[] {
  const errors = new BoundedErrors();
  if (isTrue(schema, 'nullable')) errors.add(forbidden(`${path}.nullable`, 'nullable cannot be true at the root'));
  check(schema, { path, isRoot: true, insideMeta: false }, errors);
  return errors.list;
}

function check(schema: JsonSchema, place: Place, errors: BoundedErrors): void {
  if (errors.full) return;
  if (Object.keys(schema).some((keyword) => !harmless.has(keyword))) checkSchema(schema, place, errors);
  else checkType(schema, place.path, errors);
  checkAdditional(schema, place, errors);
  checkProperties(schema, place, errors);
  checkJunctors(schema, place, errors);
  checkItems(schema, place, errors);
}

/** Keywords that are always allowed; most schemas have no other. */
const harmless: ReadonlySet<string> = new Set([
  ...['type', 'description', 'title', 'format', 'properties', 'required', 'enum', 'pattern', 'nullable'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'],
]);

function checkSchema(schema: JsonSchema, place: Place, errors: BoundedErrors): void {
  checkType(schema, place.path, errors);
  checkKeywords(schema, place, errors);
  checkPreserve(schema, place.path, errors);
  checkMapType(schema, place.path, errors);
  checkListType(schema, place.path, errors);
  checkListMap(schema, place.path, errors);
  checkListElements(schema, place.path, errors);
  errors.add(...ruleTextErrors(schema, place.path));
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

function checkType(schema: JsonSchema, path: string, errors: BoundedErrors): void {
  const type = textOf(schema, 'type');
  if (type === undefined || types.includes(type)) return;
  errors.add(notSupported(`${path}.type`, type, types));
  if (type === 'null') {
    errors.add(forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative'));
  }
}

function checkKeywords(schema: JsonSchema, place: Place, errors: BoundedErrors): void {
  const { path } = place;
  if (place.defaultsForbidden !== undefined && memberOf(schema, 'default') !== undefined) {
    errors.add(forbidden(`${path}.default`, `must not be set ${place.defaultsForbidden}`));
  }
  for (const keyword of unsupportedIn(schema)) {
    if (keyword !== language) errors.add(forbidden(`${path}.${keyword}`, `${keyword} is not supported`));
  }
  if (schemasIn(schema, 'items').length > 0) {
    errors.add(forbidden(`${path}.items`, 'items must be a schema object and not an array'));
  }
  if (place.insideMeta && isTrue(schema, schemaExtensions.embeddedResource)) {
    errors.add(forbidden(`${path}.${schemaExtensions.embeddedResource}`, 'must not be used inside of resource meta'));
  }
  if (isTrue(schema, 'uniqueItems')) {
    errors.add(
      forbidden(
        `${path}.uniqueItems`,
        'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
      ),
    );
  }
}

/** Keywords of a schema that custom resources do not have. */
export const unsupportedIn = (schema: JsonSchema): readonly string[] =>
  unsupported.filter(([name, isThere]) => isThere(schema, name)).map(([name]) => name);

const isSet = (schema: JsonSchema, name: string): boolean => memberOf(schema, name) !== undefined;
const isText = (schema: JsonSchema, name: string): boolean => textOf(schema, name) !== undefined;

/** The keyword that names the language of a schema. */
const language = '$schema';

/** Published servers say of it that it is somewhere in the schema of a version. */
export const languageError = (path: string): FieldError =>
  invalid(path, '', "OpenAPIV3Schema 'schema' is not supported");

const unsupported: readonly (readonly [name: string, isThere: (schema: JsonSchema, name: string) => boolean])[] = [
  ['id', isText],
  [language, isText],
  ['additionalItems', isSet],
  ['patternProperties', hasSchemas],
  ['definitions', hasSchemas],
  ['dependencies', isSet],
  ['$ref', isSet],
];

function checkAdditional(schema: JsonSchema, place: Place, errors: BoundedErrors): void {
  const additional = additionalOf(schema);
  if (additional === undefined) return;
  const path = `${place.path}.additionalProperties`;
  if (additional !== true && hasSchemas(schema, 'properties')) {
    errors.add(forbidden(path, 'additionalProperties and properties are mutual exclusive'));
  }
  if (typeof additional !== 'object') return;
  const defaults = place.insideMeta
    ? { defaultsForbidden: 'inside additionalProperties applying to object metadata' }
    : inherited(place);
  check(additional, { path, insideMeta: place.insideMeta, ...defaults }, errors);
}

const inherited = ({ defaultsForbidden }: Place): Pick<Place, 'defaultsForbidden'> =>
  defaultsForbidden === undefined ? {} : { defaultsForbidden };

const metaFields: ReadonlySet<string> = new Set(['metadata', 'kind', 'apiVersion']);

function checkProperties(schema: JsonSchema, place: Place, errors: BoundedErrors): void {
  const isObject = place.isRoot === true || isTrue(schema, schemaExtensions.embeddedResource);
  for (const [name, each] of namedSchemasIn(schema, 'properties')) {
    const isMeta = isObject && metaFields.has(name);
    const defaults = isMeta && place.isRoot ? { defaultsForbidden: `in top-level ${name}` } : inherited(place);
    check(
      each,
      { path: `${place.path}.properties[${name}]`, insideMeta: place.insideMeta || isMeta, ...defaults },
      errors,
    );
  }
}

function checkJunctors(schema: JsonSchema, place: Place, errors: BoundedErrors): void {
  const within = (path: string): Place => ({ path, insideMeta: place.insideMeta, ...inherited(place) });
  const not = schemaIn(schema, 'not');
  if (not) check(not, within(`${place.path}.not`), errors);
  for (const junctor of ['allOf', 'oneOf', 'anyOf']) {
    for (const [index, each] of schemasIn(schema, junctor).entries()) {
      check(each, within(`${place.path}.${junctor}[${index}]`), errors);
    }
  }
  for (const keyword of ['definitions', 'dependencies']) {
    for (const [name, each] of namedSchemasIn(schema, keyword)) {
      check(each, within(`${place.path}.${keyword}[${name}]`), errors);
    }
  }
}

function checkItems(schema: JsonSchema, place: Place, errors: BoundedErrors): void {
  const path = `${place.path}.items`;
  const items = schemaIn(schema, 'items');
  const within = { insideMeta: place.insideMeta, ...inherited(place) };
  if (items) check(items, { path, ...within }, errors);
  for (const [index, each] of schemasIn(schema, 'items').entries()) {
    check(each, { path: `${path}[${index}]`, ...within }, errors);
  }
}

function checkPreserve(schema: JsonSchema, path: string, errors: BoundedErrors): void {
  const name = schemaExtensions.preserveUnknownFields;
  if (memberOf(schema, name) === false) errors.add(invalid(`${path}.${name}`, false, 'must be true or undefined'));
}

/** An extension that needs a type: the error if the schema has another one, or none. */
function checkTypeFor(
  extension: string,
  needed: string,
  schema: JsonSchema,
  path: string,
  errors: BoundedErrors,
): void {
  const type = textOf(schema, 'type');
  if (type === needed) return;
  const detail = `must be ${needed} if ${extension} is specified`;
  errors.add(type === undefined ? required(`${path}.type`, detail) : invalid(`${path}.type`, type, detail));
}

function checkMapType(schema: JsonSchema, path: string, errors: BoundedErrors): void {
  const name = schemaExtensions.mapType;
  const mapType = anyTextOf(schema, name);
  if (mapType === undefined) return;
  checkTypeFor(name, 'object', schema, path, errors);
  const supported = ['atomic', 'granular'];
  if (!supported.includes(mapType)) errors.add(notSupported(`${path}.${name}`, mapType, supported));
}

function checkListType(schema: JsonSchema, path: string, errors: BoundedErrors): void {
  const name = schemaExtensions.listType;
  const listType = anyTextOf(schema, name);
  if (listType === undefined) return;
  const items = schemaIn(schema, 'items');
  checkTypeFor(name, 'array', schema, path, errors);
  if (listType === 'set' && items && textOf(schema, 'type') === 'array') checkSetItems(items, `${path}.items`, errors);
  const supported = ['atomic', 'set', 'map'];
  if (!supported.includes(listType)) errors.add(notSupportedOf(`${path}.${name}`, listType, supported));
}

/** Items of sets must be atomic: lists are by default, objects are not. */
function checkSetItems(items: JsonSchema, path: string, errors: BoundedErrors): void {
  const detail = `must be atomic as item of a list with ${schemaExtensions.listType}=set`;
  const listType = anyTextOf(items, schemaExtensions.listType);
  const type = textOf(items, 'type');
  if (type === 'array' && listType !== undefined && listType !== 'atomic') {
    errors.add(invalid(`${path}.${schemaExtensions.listType}`, listType, detail));
  }
  const mapType = anyTextOf(items, schemaExtensions.mapType);
  if (type === 'object' && mapType !== 'atomic') {
    errors.add(invalid(`${path}.${schemaExtensions.mapType}`, mapType ?? null, detail));
  }
}

function checkListMap(schema: JsonSchema, path: string, errors: BoundedErrors): void {
  const { listType: typeName, listMapKeys: keysName } = schemaExtensions;
  const listType = anyTextOf(schema, typeName);
  const keys = textsOf(schema, keysName);
  if (keys && listType !== 'map') {
    const detail = `must be map if ${keysName} is non-empty`;
    errors.add(
      listType === undefined
        ? required(`${path}.${typeName}`, detail)
        : invalid(`${path}.${typeName}`, listType, detail),
    );
  }
  if (listType !== 'map') return;
  if (!keys) errors.add(required(`${path}.${keysName}`, `must not be empty if ${typeName} is map`));
  const items = schemaIn(schema, 'items');
  if (items) checkMapItems(items, keys ?? [], path, errors);
  else if (memberOf(schema, 'items') === undefined) {
    errors.add(required(`${path}.items`, `must have a schema if ${typeName} is map`));
  } else errors.add(invalid(`${path}.items`, '', `must only have a single schema if ${typeName} is map`));
}

function checkMapItems(items: JsonSchema, keys: readonly string[], path: string, errors: BoundedErrors): void {
  const { listType: typeName, listMapKeys: keysName } = schemaExtensions;
  const type = textOf(items, 'type');
  if (type !== 'object') {
    const detail = `must be object if parent array's ${typeName} is map`;
    errors.add(invalid(`${path}.items.type`, type ?? '', detail));
    return;
  }
  const seen = new Set<string>();
  for (const key of keys) {
    const property = namedSchemaIn(items, 'properties', key);
    const propertyType = property && textOf(property, 'type');
    if (!property) {
      errors.add(invalid(`${path}.${keysName}`, keys, 'entries must all be names of item properties'));
    } else if (propertyType === 'array' || propertyType === 'object') {
      const detail = `must be a scalar type if parent array's ${typeName} is map`;
      errors.add(invalid(`${path}.items.properties[${key}].type`, type, detail));
    }
    if (seen.has(key)) errors.add(invalid(`${path}.${keysName}`, keys, 'must not contain duplicate entries'));
    seen.add(key);
  }
}

/** Items of sets and list maps must be identifiable: never null, and with all their keys. */
function checkListElements(schema: JsonSchema, path: string, errors: BoundedErrors): void {
  const listType = anyTextOf(schema, schemaExtensions.listType);
  const items = schemaIn(schema, 'items');
  if (!items || (listType !== 'set' && listType !== 'map')) return;
  if (isTrue(items, 'nullable')) {
    const detail = `cannot be nullable when ${schemaExtensions.listType} is ${listType}`;
    errors.add(forbidden(`${path}.items.nullable`, detail));
  }
  if (listType === 'set') return;
  const isRequired = new Set(textsOf(items, 'required'));
  const isKey = `this property is in ${schemaExtensions.listMapKeys}, so it`;
  for (const key of textsOf(schema, schemaExtensions.listMapKeys) ?? []) {
    const property = namedSchemaIn(items, 'properties', key);
    if (!property) continue;
    const at = `${path}.items.properties[${key}]`;
    if (!isRequired.has(key) && memberOf(property, 'default') === undefined) {
      errors.add(required(`${at}.default`, `${isKey} must have a default or be a required property`));
    }
    if (isTrue(property, 'nullable')) errors.add(forbidden(`${at}.nullable`, `${isKey} cannot be nullable`));
  }
}
