import { cborTypes } from '../../codec/cbor/format.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { subresourceKind } from '../../kinds/body-kind.ts';
import { describedSchema, namedOutlineOf } from '../../kinds/documented-schema.ts';
import { type GroupVersionKind, hasLists } from '../../kinds/kind.ts';
import { isLazy } from '../../kinds/lazy-schema.ts';
import { deleteOptions } from '../../kinds/meta/delete-options.ts';
import { discoveryDocuments, serverVersion } from '../../kinds/meta/discovery-documents.ts';
import { listSchema } from '../../kinds/meta/list-schema.ts';
import { patch } from '../../kinds/meta/request-options.ts';
import { status } from '../../kinds/meta/status.ts';
import { watchEvent } from '../../kinds/meta/watch-event.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { type LaterStruct, openapiSchemaEntries, type SchemaEntry } from '../../schema/openapi.ts';
import type { StructSchema } from '../../schema/schema.ts';
import { Entries, jsonPieces } from './json-pieces.ts';
import { KeptSchemas } from './kept-schemas.ts';
import { type AnswerRef, type Operation, operations, type SchemaRef } from './operations.ts';
import type { Parameter } from './parameters.ts';
import { groupOperation, rootOperations, versionOperation } from './server-operations.ts';

type Json = Record<string, unknown>;

/** How one OpenAPI version represents the shared content. */
interface Form {
  readonly version: 2 | 3;
  ref(schema: SchemaRef): Json;
  parameter(parameter: Parameter): Json;
  operation(operation: Operation): Json;
}

/** What documents depend on besides the resources. */
export interface DescribedApi {
  readonly dialect: Dialect;
  /** Whether objects can also be sent and received in CBOR. */
  readonly cbor: boolean;
  /** Whether the server has documents with which others can verify its tokens. */
  readonly issuer: boolean;
}

/** The OpenAPI 3.0 document of one group version: `/openapi/v3/api/v1`. JSON, piece by piece. */
export const openapiV3 = (resources: readonly ServedResource[], api: DescribedApi): Iterable<string> =>
  documentV3(api, resources, (described) => paths(resources, described));

/** The same of an operation that concerns no resources: `/openapi/v3/version`. */
export const openapiV3Of = (operation: Operation, api: DescribedApi): Iterable<string> =>
  documentV3(api, [], (described) => pathItems([operation], described));

function documentV3(
  api: DescribedApi,
  resources: readonly ServedResource[],
  items: (described: Described) => Iterable<PathItem | undefined>,
): Iterable<string> {
  const { dialect } = api;
  const described: Described = { form: formV3(api), dialect, used: new Set() };
  return jsonPieces(
    entries({
      openapi: '3.0.0',
      info: { title: dialect.title, version: dialect.gitVersion },
      paths: new Entries(items(described)),
      components: entries({
        // One document is made anew with each change of its group, most of which concern one kind.
        schemas: new Entries(schemas(resources, described, new KeptSchemas(dialect))),
        securitySchemes: { BearerToken: bearerToken },
      }),
    }),
  );
}

/** The OpenAPI 2.0 document of all group versions: `/openapi/v2`. Its entries are made as they are asked for, once and in order. */
export function openapiV2(resources: readonly ServedResource[], api: DescribedApi): Entries {
  const { dialect } = api;
  const described: Described = { form: formV2(api), dialect, used: new Set() };
  return entries({
    swagger: '2.0',
    info: { title: dialect.title, version: dialect.gitVersion },
    paths: new Entries(allPaths(resources, described, api)),
    definitions: new Entries(schemas(resources, described)),
    securityDefinitions: { BearerToken: bearerToken },
    security: [{ BearerToken: [] }],
  });
}

interface Described {
  readonly form: Form;
  readonly dialect: Dialect;
  /** Names of the schemas that paths refer to: complete when all paths were made. */
  readonly used: Set<string>;
}

const entries = (object: Json): Entries => new Entries(Object.entries(object));

const bearerToken = {
  type: 'apiKey',
  name: 'authorization',
  in: 'header',
  description: 'A bearer token, or a client certificate on the connection.',
};

type PathItem = readonly [path: string, methods: Json];

/** The groups that have a document of their own, which are, as in kube-apiserver, those with resources that are not custom. */
export const describedGroups = (resources: readonly ServedResource[]): ReadonlySet<string> =>
  new Set(resources.flatMap(({ kind }) => (kind.group === '' || isLazy(kind) ? [] : [kind.group])));

/** The path items of the root, of groups, and then those of group versions. */
function* allPaths(
  resources: readonly ServedResource[],
  described: Described,
  { issuer }: DescribedApi,
): Generator<PathItem | undefined, void> {
  const { dialect } = described;
  yield* pathItems([...rootOperations(issuer).values()], described);
  yield* pathItems(
    [...describedGroups(resources)].map((group) => groupOperation(group, dialect)),
    described,
  );
  yield* paths(resources, described);
}

/** The path items of each group version, then those of its resources. No two resources have the same path. */
function* paths(resources: readonly ServedResource[], described: Described): Generator<PathItem | undefined, void> {
  const versions = new Map(resources.map(({ kind }) => [`${kind.group}/${kind.version}`, kind]));
  const { dialect } = described;
  for (const version of versions.values()) yield* pathItems([versionOperation(version, dialect)], described);
  for (const resource of resources) yield* pathItems(operations(resource, dialect), described);
}

/** In order of first appearance. */
function* pathItems(
  all: readonly Operation[],
  { form, dialect: { openapiExtension }, used }: Described,
): Generator<PathItem, void> {
  for (const { body, responses } of all) {
    for (const ref of [body?.schema, ...Object.values(responses)]) if (ref && ref !== 'text') used.add(ref.struct);
  }
  for (const [path, operationsOfPath] of Map.groupBy(all, (operation) => operation.path)) {
    const methods = operationsOfPath.map((operation) => [
      operation.method,
      {
        description: operation.description,
        tags: [operation.tag],
        operationId: operation.id,
        ...form.operation(operation),
        ...(operation.of && {
          [`x-${openapiExtension}-action`]: operation.of.action,
          [`x-${openapiExtension}-group-version-kind`]: gvk(operation.of.kind),
        }),
      },
    ]);
    yield [path, Object.fromEntries(methods)];
  }
}

const gvk = ({ group, version, kind }: GroupVersionKind): GroupVersionKind => ({ group, version, kind });

/** All kinds, their lists and the other bodies of operations, with the kinds that each schema represents. */
function* schemas(
  resources: readonly ServedResource[],
  { form: { version }, dialect, used: names }: Described,
  kept?: KeptSchemas,
): Generator<SchemaEntry | undefined, void> {
  const kinds = new Map<StructSchema, readonly GroupVersionKind[]>();
  const later: LaterStruct[] = [];
  const groupVersions = new Map<string, GroupVersionKind>();
  for (const { kind } of resources) {
    yield undefined;
    groupVersions.set(`${kind.group}/${kind.version}`, kind);
    const schema = namedOutlineOf(kind);
    kinds.set(schema, [kind]);
    if (hasLists(kind)) kinds.set(listSchema(schema), [{ ...gvk(kind), kind: kind.listKind }]);
    if (isLazy(kind)) {
      const known = kept?.of(kind, schema.name);
      later.push({ name: schema.name, kinds: [kind], known, make: () => describedSchema(kind) });
    }
    for (const subresource of kind.subresources) {
      if (subresource.type === 'view' || subresource.type === 'connect') continue;
      const body = subresourceKind(kind, subresource);
      kinds.set(body.schema, [body]);
    }
  }
  const ofEach = (kind: string): readonly GroupVersionKind[] =>
    [...groupVersions.values()].map((each) => ({ ...gvk(each), kind }));
  const ofCore = (kind: string): readonly GroupVersionKind[] => [{ group: '', version: 'v1', kind }];
  for (const schema of [serverVersion, patch]) if (names.has(schema.name)) kinds.set(schema, []);
  if (names.has(watchEvent.name)) kinds.set(watchEvent, ofEach('WatchEvent'));
  if (names.has(status.name)) kinds.set(status, ofCore('Status'));
  if (names.has(deleteOptions.name)) kinds.set(deleteOptions, ofEach('DeleteOptions'));
  const answers = [...discoveryDocuments.values()].filter(({ name }) => names.has(name));
  const roots = [...kinds.keys(), ...answers];
  // Some are within others, too.
  for (const [kind, schema] of discoveryDocuments) kinds.set(schema, ofCore(kind));
  const entries = openapiSchemaEntries({
    roots,
    later,
    whole: new Set(later.flatMap(({ name }) => [name, `${name}List`])),
    version,
    prefix: dialect.openapiPrefix,
    extension: dialect.openapiExtension,
    kinds,
  });
  for (const entry of entries) yield entry && kept ? kept.taken(entry) : entry;
}

const fullName = ({ struct, isWhole }: SchemaRef, { openapiPrefix }: Dialect): string =>
  isWhole ? struct : `${openapiPrefix}.${struct}`;

function formV3(api: DescribedApi): Form {
  const { dialect } = api;
  const ref = (schema: SchemaRef): Json => ({ $ref: `#/components/schemas/${fullName(schema, dialect)}` });
  const content = (schema: AnswerRef, mediaTypes: readonly string[]): Json =>
    Object.fromEntries(mediaTypes.map((mediaType) => [mediaType, { schema: schema === 'text' ? text : ref(schema) }]));
  const parameter = ({ name, in: place, type, description }: Parameter): Json => ({
    name,
    in: place,
    description,
    ...(place === 'path' && { required: true }),
    schema: { type, uniqueItems: true },
  });
  return {
    version: 3,
    ref,
    parameter,
    operation: (operation) => ({
      ...ofAny('parameters', operation.parameters.map(parameter)),
      ...(operation.body && {
        requestBody: {
          content: content(operation.body.schema, consumed(operation, api)),
          ...requiredIf(operation.body),
        },
      }),
      responses: responses(operation, (schema) => ({ content: content(schema, produced(operation, api)) })),
    }),
  };
}

function formV2(api: DescribedApi): Form {
  const { dialect } = api;
  const ref = (schema: SchemaRef): Json => ({ $ref: `#/definitions/${fullName(schema, dialect)}` });
  const parameter = ({ name, in: place, type, description }: Parameter): Json => ({
    name,
    in: place,
    description,
    ...(place === 'path' && { required: true }),
    type,
    uniqueItems: true,
  });
  return {
    version: 2,
    ref,
    parameter,
    operation: (operation) => ({
      consumes: operation.body ? consumed(operation, api) : ['*/*'],
      produces: produced(operation, api),
      schemes: ['https'],
      ...ofAny('parameters', [
        ...operation.parameters.map(parameter),
        ...(operation.body
          ? [{ name: 'body', in: 'body', ...requiredIf(operation.body), schema: ref(operation.body.schema) }]
          : []),
      ]),
      responses: responses(operation, (schema) => ({ schema: schema === 'text' ? text : ref(schema) })),
    }),
  };
}

/** A list, omitted if empty: protobuf cannot represent an empty list. */
const ofAny = (name: string, list: readonly unknown[]): object => (list.length > 0 ? { [name]: list } : {});

const requiredIf = ({ required }: { readonly required: boolean }): object => (required ? { required } : {});

const consumed = ({ body, method, protobuf }: Operation, { dialect, cbor }: DescribedApi): readonly string[] => [
  ...(body?.mediaTypes ?? []),
  ...(protobuf && method !== 'patch' ? [dialect.protobufMediaType] : []),
  ...(cbor && body ? [method === 'patch' ? cborTypes.apply : cborTypes.item] : []),
];

function produced(operation: Operation, { dialect, cbor }: DescribedApi): readonly string[] {
  const { streams, protobuf, of, carries, fixedTypes } = operation;
  if (fixedTypes) return fixedTypes;
  if (carries === 'anything') return ['*/*'];
  const inCbor = cbor && of !== undefined;
  const inProtobuf = protobuf ? [dialect.protobufMediaType] : [];
  const binary = [...inProtobuf, ...(inCbor ? [cborTypes.item] : [])];
  const streamed = [
    ...['application/json', ...inProtobuf].map((mediaType) => `${mediaType};stream=watch`),
    ...(inCbor ? [cborTypes.sequence] : []),
  ];
  // Streams are not available in YAML, and these operations always stream.
  const yaml = of?.action === 'watch' || of?.action === 'watchlist' ? [] : ['application/yaml'];
  const plain = carries === 'text' ? ['text/plain'] : [];
  return [...plain, 'application/json', ...yaml, ...binary, ...(streams ? streamed : [])];
}

const reasons: Readonly<Record<string, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' };

const text: Json = { type: 'string' };

function responses(operation: Operation, body: (schema: AnswerRef) => Json): Json {
  const answers = Object.entries(operation.responses).map(([code, schema]) => [
    code,
    { description: reasons[code] ?? '', ...body(schema) },
  ]);
  return { ...Object.fromEntries(answers), 401: { description: 'Unauthorized' } };
}
