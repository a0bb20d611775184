import { deleteOptions } from '../../kinds/meta/delete-options.ts';
import { createOptions, listOptions, patchOptions } from '../../kinds/meta/request-options.ts';
import { type Field, type StructSchema, schemaOf } from '../../schema/schema.ts';

/** A query or path parameter, for the OpenAPI documents. */
export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
}

const pretty: Parameter = {
  name: 'pretty',
  in: 'query',
  type: 'string',
  description: 'Indent the answer: `true` or `false`.',
};

/** Query parameters for the option fields of the schemas, and `pretty`, sorted by name. */
const parametersOf = (...schemas: readonly StructSchema[]): readonly Parameter[] =>
  [...schemas.flatMap(optionParameters), pretty].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Query parameters for the option fields of a schema. */
export const optionParameters = ({ fields }: StructSchema): readonly Parameter[] =>
  Object.entries(fields).flatMap(([name, field]) => parameterOf(name, field));

/** As in kube-apiserver, of a list the type of its items, and nothing of what is neither text, number nor flag, as times. */
function parameterOf(name: string, field: Field): readonly Parameter[] {
  const schema = schemaOf(field);
  const { type } = schema.type === 'list' ? schema.items : schema;
  if (field.number === 0 || (type !== 'string' && type !== 'integer' && type !== 'boolean')) return [];
  return [{ name, in: 'query', type, description: field.description ?? '' }];
}

const watchOnly = ['allowWatchBookmarks', 'watch'];

/** The parameter sets of spec section 4.1, with the DELETE parameters that Kubernetes 1.32 adds. */
export const parameterSets = {
  get: [pretty],
  list: parametersOf(listOptions),
  listOnly: parametersOf(listOptions).filter(({ name }) => !watchOnly.includes(name)),
  write: parametersOf(createOptions),
  patch: parametersOf(patchOptions),
  delete: parametersOf(deleteOptions),
  deleteCollection: parametersOf(deleteOptions, listOptions).filter(({ name }) => !watchOnly.includes(name)),
} as const satisfies Readonly<Record<string, readonly Parameter[]>>;

/** Path parameters: the names in braces. */
export const pathParameters = (path: string): readonly Parameter[] =>
  [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    type: 'string',
    description: pathDescriptions[name] ?? `The ${name} of the object.`,
  }));

const pathDescriptions: Readonly<Record<string, string>> = {
  namespace: 'The namespace of the object.',
  path: 'The rest of the path, which is that of the request to the server behind.',
};
