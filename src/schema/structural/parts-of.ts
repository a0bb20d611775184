import { additionalOf, type JsonSchema, namedSchemasIn, schemaIn, schemasIn } from './json-schema.ts';

/** Keywords with a list of schemas that restrict the values of the schema that has them. */
export const junctors = ['anyOf', 'allOf', 'oneOf'] as const;

/** The schemas in a structural schema, with their steps in paths of errors. */
export function partsOf(schema: JsonSchema): readonly (readonly [step: string, part: JsonSchema])[] {
  const parts: [string, JsonSchema][] = [];
  for (const [name, each] of namedSchemasIn(schema, 'properties')) parts.push([`properties[${name}]`, each]);
  for (const name of ['items', 'not']) {
    const part = schemaIn(schema, name);
    if (part) parts.push([name, part]);
  }
  const additional = additionalOf(schema);
  if (typeof additional === 'object') parts.push(['additionalProperties', additional]);
  for (const name of junctors) {
    for (const [index, each] of schemasIn(schema, name).entries()) parts.push([`${name}[${index}]`, each]);
  }
  return parts;
}
