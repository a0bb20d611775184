import { additionalOf, hasSchemas, type JsonSchema, namedSchemaIn } from './json-schema.ts';

/** What a JSON path leads to in a schema, or why it leads nowhere, in the words of kube-apiserver. */
type FieldAtPath =
  | { readonly type: 'found'; readonly steps: readonly string[]; readonly schema: JsonSchema }
  | { readonly type: 'problem'; readonly problem: string };

const problem = (text: string): FieldAtPath => ({ type: 'problem', problem: text });

/** A delimiter, or what is between two of them. */
const tokens = /[.[\]]|[^.[\]]+/g;

/**
 * The schema that a path such as `.spec.size` names: steps are fields, or keys where any are allowed. Without the array
 * notation (`[...]`).
 */
export function fieldAtPath(schema: JsonSchema, path: string): FieldAtPath {
  const parts = path.match(tokens) ?? [];
  const steps: string[] = [];
  let at = schema;
  for (let index = 0; index < parts.length; index += 2) {
    const delimiter = parts[index] as string;
    if (delimiter === '[') return problem('array notation is not allowed');
    if (delimiter !== '.') return problem(`expected [ or . but got: ${delimiter}`);
    const step = parts[index + 1];
    if (step === undefined) return problem('unexpected end of JSON path');
    const found = partOf(at, step);
    if (!found) return problem('does not refer to a valid field');
    steps.push(step);
    at = found;
  }
  return { type: 'found', steps, schema: at };
}

function partOf(schema: JsonSchema, step: string): JsonSchema | undefined {
  if (hasSchemas(schema, 'properties')) return namedSchemaIn(schema, 'properties', step);
  const additional = additionalOf(schema);
  return typeof additional === 'object' ? additional : undefined;
}
