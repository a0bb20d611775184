import { cborTypes } from '../../codec/cbor/format.ts';
import { hasMessage } from '../../codec/protobuf/message.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { type BodyKind, subresourceKind } from '../../kinds/body-kind.ts';
import { namedOutlineOf } from '../../kinds/documented-schema.ts';
import type { ConnectSubresource, GroupVersionKind, Kind, Subresource } from '../../kinds/kind.ts';
import { isLazy } from '../../kinds/lazy-schema.ts';
import { deleteOptions } from '../../kinds/meta/delete-options.ts';
import { patch } from '../../kinds/meta/request-options.ts';
import { status } from '../../kinds/meta/status.ts';
import { watchEvent } from '../../kinds/meta/watch-event.ts';
import type { ResourceVerb } from '../../request/request-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { allowedVerbs } from '../registry.ts';
import { patchMediaTypes } from '../write/patch-formats.ts';
import { capital, versionNames } from './operation-names.ts';
import { optionParameters, type Parameter, parameterSets, pathParameters } from './parameters.ts';

/** A schema in the documents, by its struct name. */
export interface SchemaRef {
  readonly struct: string;
  /** The name is whole, without the prefix of others: that of a custom resource, or of a list of it. */
  readonly isWhole?: boolean;
}

/** What an answer holds: an object, or text that is no object. */
export type AnswerRef = SchemaRef | 'text';

/** One method of one path in the OpenAPI documents (spec sections 4.1 and 4.2). */
export interface Operation {
  readonly path: string;
  readonly method: 'get' | 'head' | 'post' | 'put' | 'patch' | 'delete';
  /** No other operation has it: clients that are generated name a function by it. */
  readonly id: string;
  /** Clients that are generated have a class for each. */
  readonly tag: string;
  readonly description: string;
  /** The OpenAPI action (`x-...-action`) and the kind of the objects; undefined if there are no objects. */
  readonly of?: {
    readonly action:
      | 'get'
      | 'list'
      | 'watch'
      | 'watchlist'
      | 'post'
      | 'put'
      | 'patch'
      | 'delete'
      | 'deletecollection'
      | 'connect';
    readonly kind: GroupVersionKind;
  };
  readonly parameters: readonly Parameter[];
  readonly body:
    | { readonly schema: SchemaRef; readonly required: boolean; readonly mediaTypes: readonly string[] }
    | undefined;
  readonly responses: Readonly<Record<string, AnswerRef>>;
  readonly streams: boolean;
  /** Of answers that are no objects: text, or what somebody else answers. */
  readonly carries?: 'text' | 'anything';
  /** Media types of the answers, whatever is asked for. */
  readonly fixedTypes?: readonly string[];
  /** Whether the objects can also be sent and received as protobuf. Patches cannot. */
  readonly protobuf: boolean;
}

const plainTypes = ['application/json', 'application/yaml'];
/** Without those in binary formats, which depend on kind and features. */
const patchTypesOf = ({ withoutPatches = [] }: Kind): readonly string[] =>
  patchMediaTypes
    .filter(({ patch, mediaType }) => !withoutPatches.some((each) => each === patch) && mediaType !== cborTypes.apply)
    .map(({ mediaType }) => mediaType);

/** An operation without what is named after its group and version. The id is verb, group, version and rest. */
type Unnamed = Omit<Operation, 'id' | 'tag'> & { readonly verb: string; readonly rest: string };

/** All operations of a kind. */
export function operations(served: ServedResource, dialect: Dialect): readonly Operation[] {
  const names = versionNames(served.kind, dialect);
  return unnamedOperations(served).map(({ verb, rest, ...operation }) => ({
    ...operation,
    id: names.id(verb, rest),
    tag: names.tag,
  }));
}

function unnamedOperations(served: ServedResource): readonly Unnamed[] {
  const { kind } = served;
  const verbs = allowedVerbs(served, '', false);
  const collection = collectionPath(served);
  const one = `${collection}/{name}`;
  const list = [
    ...collectionOperations(served, collection),
    ...objectOperations(served, one),
    ...kind.subresources.flatMap((subresource) =>
      subresourceOperations(served, `${one}/${subresource.name}`, subresource),
    ),
  ];
  const namespaced = kind.scope === 'Namespaced';
  if (namespaced && verbs.includes('list')) list.push(acrossNamespaces(served));
  return verbs.includes('watch') ? [...list, ...watchOperations(served)] : list;
}

const root = ({ kind: { group, version } }: ServedResource): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

const collectionPath = (served: ServedResource, before = root(served)): string =>
  served.kind.scope === 'Namespaced'
    ? `${before}/namespaces/{namespace}/${served.kind.resource}`
    : `${before}/${served.kind.resource}`;

type Action = NonNullable<Operation['of']>['action'];

interface Draft extends Pick<Operation, 'path' | 'method' | 'description'> {
  readonly verb: string;
  readonly action: Action;
  readonly set: keyof typeof parameterSets;
  readonly body?: Operation['body'];
  readonly responses: Operation['responses'];
  /** Default: that of the objects. */
  readonly kind?: BodyKind;
  readonly prefix?: string;
  readonly suffix?: string;
  readonly streams?: boolean;
}

function operation({ kind }: ServedResource, draft: Draft): Unnamed {
  const scope = draft.path.includes('{namespace}') ? 'Namespaced' : '';
  return {
    path: draft.path,
    method: draft.method,
    verb: draft.verb,
    rest: `${draft.prefix ?? ''}${scope}${kind.kind}${draft.suffix ?? ''}`,
    description: draft.description,
    of: { action: draft.action, kind: draft.kind ?? kind },
    parameters: [...pathParameters(draft.path), ...parameterSets[draft.set]],
    body: draft.body,
    responses: draft.responses,
    streams: draft.streams ?? false,
    protobuf: hasMessage(namedOutlineOf(draft.kind ?? kind)),
  };
}

const objectRef = (body: BodyKind): SchemaRef => ({ struct: namedOutlineOf(body).name, isWhole: isLazy(body) });
const listRef = (kind: Kind): SchemaRef => ({ struct: `${namedOutlineOf(kind).name}List`, isWhole: isLazy(kind) });
const statusRef: SchemaRef = { struct: status.name };
const deleteOptionsRef: SchemaRef = { struct: deleteOptions.name };

function collectionOperations(served: ServedResource, path: string): readonly Unnamed[] {
  const { kind } = served;
  const all = [
    listOperation(served, path, ''),
    operation(served, {
      path,
      method: 'post',
      verb: 'create',
      action: 'post',
      description: `create a ${kind.kind}`,
      set: 'write',
      body: { schema: objectRef(kind), required: true, mediaTypes: plainTypes },
      responses: { 200: objectRef(kind), 201: objectRef(kind), 202: objectRef(kind) },
    }),
    operation(served, {
      path,
      method: 'delete',
      verb: 'delete',
      prefix: 'Collection',
      action: 'deletecollection',
      description: `delete all ${kind.resource} that the parameters select`,
      set: 'deleteCollection',
      body: { schema: deleteOptionsRef, required: false, mediaTypes: plainTypes },
      responses: { 200: statusRef },
    }),
  ];
  const verbs = allowedVerbs(served, '', false);
  return all.filter(({ of }) => of && verbs.includes(verbOf[of.action]));
}

const verbOf = {
  connect: 'get',
  get: 'get',
  list: 'list',
  watch: 'watch',
  watchlist: 'watch',
  post: 'create',
  put: 'update',
  patch: 'patch',
  delete: 'delete',
  deletecollection: 'deletecollection',
} as const satisfies Record<Action, ResourceVerb>;

function listOperation(served: ServedResource, path: string, suffix: string): Unnamed {
  const watched = allowedVerbs(served, '', false).includes('watch');
  return operation(served, {
    path,
    method: 'get',
    verb: 'list',
    action: 'list',
    description: `list ${watched ? 'or watch ' : ''}${served.kind.resource}`,
    set: watched ? 'list' : 'listOnly',
    responses: { 200: listRef(served.kind) },
    suffix,
    streams: watched,
  });
}

const acrossNamespaces = (served: ServedResource): Unnamed =>
  listOperation(served, `${root(served)}/${served.kind.resource}`, 'ForAllNamespaces');

/** Watches at the deprecated `/watch` paths; the parameter `watch` of lists has replaced them. */
function watchOperations(served: ServedResource): readonly Unnamed[] {
  const { kind } = served;
  const before = `${root(served)}/watch`;
  const collection = collectionPath(served, before);
  const watch = (path: string, action: 'watch' | 'watchlist', suffix: string): Unnamed =>
    operation(served, {
      path,
      method: 'get',
      verb: 'watch',
      action,
      description: `watch ${action === 'watch' ? `a ${kind.kind}` : kind.resource}; deprecated: use the parameter watch of a list`,
      set: 'list',
      responses: { 200: { struct: watchEvent.name } },
      suffix,
      streams: true,
    });
  return [
    watch(collection, 'watchlist', 'List'),
    watch(`${collection}/{name}`, 'watch', ''),
    ...(kind.scope === 'Namespaced' ? [watch(`${before}/${kind.resource}`, 'watchlist', 'ListForAllNamespaces')] : []),
  ];
}

function objectOperations(served: ServedResource, path: string): readonly Unnamed[] {
  const { kind } = served;
  const deleted = kind.deleteReturnsObject ? objectRef(kind) : statusRef;
  const verbs = allowedVerbs(served, '', true);
  const all = [
    ...viewOperations(served, path, verbs),
    operation(served, {
      path,
      method: 'delete',
      verb: 'delete',
      action: 'delete',
      description: `delete a ${kind.kind}`,
      set: 'delete',
      body: { schema: deleteOptionsRef, required: false, mediaTypes: plainTypes },
      responses: { 200: deleted, 202: deleted },
    }),
  ];
  return all.filter(({ of }) => of && verbs.includes(verbOf[of.action]));
}

function viewOperations(
  served: ServedResource,
  path: string,
  verbs: readonly string[],
  view?: Subresource,
): readonly Unnamed[] {
  const kind = view ? subresourceKind(served.kind, view) : served.kind;
  const suffix = capital(view?.name ?? '');
  const what = view ? `${view.name} of a ${served.kind.kind}` : kind.kind;
  const drafts: readonly (Draft & { readonly allow: string })[] = [
    {
      allow: 'get',
      path,
      method: 'get',
      verb: 'read',
      action: 'get',
      description: `read a ${what}`,
      set: 'get',
      responses: { 200: objectRef(kind) },
      suffix,
      kind,
    },
    {
      allow: 'update',
      path,
      method: 'put',
      verb: 'replace',
      action: 'put',
      description: `replace a ${what}`,
      set: 'write',
      body: { schema: objectRef(kind), required: true, mediaTypes: plainTypes },
      responses: { 200: objectRef(kind), 201: objectRef(kind) },
      suffix,
      kind,
    },
    {
      allow: 'patch',
      path,
      method: 'patch',
      verb: 'patch',
      action: 'patch',
      description: `change parts of a ${what}`,
      set: 'patch',
      body: { schema: { struct: patch.name }, required: true, mediaTypes: patchTypesOf(served.kind) },
      responses: { 200: objectRef(kind), 201: objectRef(kind) },
      suffix,
      kind,
    },
  ];
  return drafts.filter(({ allow }) => verbs.includes(allow)).map((draft) => operation(served, draft));
}

function subresourceOperations(served: ServedResource, path: string, subresource: Subresource): readonly Unnamed[] {
  if (subresource.type === 'connect') return connectOperations(served, path, subresource);
  if (subresource.type !== 'action') {
    return viewOperations(served, path, allowedVerbs(served, subresource.name, true), subresource);
  }
  const body: SchemaRef = { struct: subresource.body.schema.name };
  return [
    operation(served, {
      path,
      method: 'post',
      verb: 'create',
      action: 'post',
      description: `create the ${subresource.name} of a ${served.kind.kind}`,
      set: 'write',
      body: { schema: body, required: true, mediaTypes: plainTypes },
      responses: { 200: body, 201: body, 202: body },
      kind: subresource.body,
      suffix: capital(subresource.name),
    }),
  ];
}

const methodsOf = {
  get: ['get', 'head'],
  create: ['post'],
  update: ['put'],
  patch: ['patch'],
  delete: ['delete'],
} as const satisfies Readonly<Record<string, readonly Operation['method'][]>>;

/** A text is read; anything else is asked of somebody else by the methods of the verbs, those of a proxy at any path below too. */
function connectOperations(served: ServedResource, path: string, connect: ConnectSubresource): readonly Unnamed[] {
  const { kind } = served;
  const isNamespaced = kind.scope === 'Namespaced';
  const what = `${isNamespaced ? 'Namespaced' : ''}${kind.kind}${capital(connect.name)}`;
  const options = optionParameters(connect.options.schema);
  const common = { body: undefined, responses: { 200: 'text' }, streams: false, protobuf: false } as const;
  if (connect.carries === 'text') {
    return [
      {
        ...common,
        ...{ path, method: 'get', verb: 'read', rest: what },
        description: `read the ${connect.name} of a ${kind.kind}`,
        of: { action: 'get', kind },
        parameters: [...pathParameters(path), ...options, ...parameterSets.get],
        carries: 'text',
      },
    ];
  }
  const paths = connect.carries === 'proxy' ? [path, `${path}/{path}`] : [path];
  const methods = connect.verbs.flatMap((verb) => methodsOf[verb]);
  return paths.flatMap((at) =>
    methods
      .filter((method) => method !== 'head' || connect.carries === 'proxy')
      .map((method) => ({
        ...common,
        ...{ path: at, method },
        ...{ verb: 'connect', rest: `${capital(method)}${what}${at === path ? '' : 'WithPath'}` },
        description: `connect ${method.toUpperCase()} requests to ${connect.name} of a ${kind.kind}`,
        of: { action: 'connect', kind: connect.options },
        parameters: [...pathParameters(at), ...options],
        carries: 'anything',
      })),
  );
}
