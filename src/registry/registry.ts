import type { Turn } from '../base/keyed-mutex.ts';
import {
  type ActionSubresource,
  type ScaleSubresource,
  type Subresource,
  storesObjects,
  type ViewSubresource,
} from '../kinds/kind.ts';
import { methodNotAllowed, noSuchPath } from '../meta/status-error.ts';
import { isReadVerb, type ResourceRequest, type ResourceVerb } from '../request/request-info.ts';
import type { ServedResource } from '../resources/resource.ts';
import type { Reply } from './reply.ts';
import type { RegistryParts, VerbRequest } from './verb.ts';
import { act } from './verbs/action.ts';
import { answer } from './verbs/answer.ts';
import { connect } from './verbs/connect.ts';
import { create } from './verbs/create.ts';
import { deleteObject } from './verbs/delete.ts';
import { deleteCollection } from './verbs/delete-collection.ts';
import { get } from './verbs/get.ts';
import { list } from './verbs/list.ts';
import { observe } from './verbs/observe.ts';
import { patch } from './verbs/patch.ts';
import { getScale, writeScale } from './verbs/scale.ts';
import { update } from './verbs/update.ts';
import { watch } from './verbs/watch.ts';
import { checkCreation } from './write/check-creation.ts';
import { type InitialForms, loadForms } from './write/initial-forms.ts';
import { createInitial, type InitialObject } from './write/initial-object.ts';
import { type InTurn, ObjectWriter } from './write/object-writer.ts';

/**
 * Dispatches a request to its verb (`verbs/`). Verbs parse the options of the request; `read/` serves from the cache,
 * `write/` runs strategy, admission, validation and the commit.
 */
export class Registry {
  readonly #parts: RegistryParts;
  readonly #writer: ObjectWriter;
  #forms: Promise<InitialForms | undefined> | undefined;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
    this.#writer = new ObjectWriter(parts);
  }

  /** Serves a request that passed `checkRequest`. Replies or throws synchronously if there is nothing to wait for. */
  serve(request: VerbRequest): Reply | Promise<Reply> {
    return request.info.subresource === '' ? this.#serveObject(request) : this.#serveSubresource(request);
  }

  /** Runs a write of one object that is made elsewhere, serialized by store key with the writes of the registry. */
  inTurn<T>(request: InTurn, key: string, work: (turn: Turn) => Promise<T>): Promise<T> {
    return this.#writer.inTurn(request, key, work);
  }

  /** See `createInitial`. */
  async createInitial(initial: InitialObject): Promise<boolean> {
    this.#forms ??= loadForms(this.#parts.dialect);
    return createInitial(this.#parts, initial, await this.#forms);
  }

  #serveObject(request: VerbRequest): Reply | Promise<Reply> {
    const { verb } = request.info;
    const look = request.served.kind.observe;
    if (look) return observe(this.#parts, this.#writer, request, look);
    switch (verb) {
      case 'get':
        return get(this.#parts, request);
      case 'list':
        return list(this.#parts, request);
      case 'watch':
        return watch(this.#parts, request);
      case 'create':
        return this.#create(request);
      case 'update':
        return update(this.#writer, request);
      case 'delete':
        return deleteObject(this.#parts, this.#writer, request);
      case 'deletecollection':
        return deleteCollection(this.#parts, this.#writer, request);
      case 'patch':
        return patch(this.#writer, request);
    }
  }

  #create(request: VerbRequest): Promise<Reply> {
    const { answer: make, acts, group, version } = request.served.kind;
    if (acts) {
      const on = this.#parts.resources.find(group, version, acts.on);
      if (!on) throw noSuchPath();
      return this.#act(request, acts.action, on);
    }
    return make ? answer(this.#parts, this.#writer, request, make) : create(this.#writer, request);
  }

  #serveSubresource(request: VerbRequest): Reply | Promise<Reply> {
    const subresource = findSubresource(request.served, request.info.subresource);
    if (subresource?.type === 'action') return this.#act(request, subresource);
    if (subresource?.type === 'view') return this.#view(request, subresource);
    if (subresource?.type === 'scale') return this.#scale(request, subresource);
    if (subresource?.type === 'connect') return connect(this.#parts, request, subresource);
    throw noSuchPath();
  }

  #scale(request: VerbRequest, scale: ScaleSubresource): Reply | Promise<Reply> {
    if (isReadVerb(request.info.verb)) return getScale(this.#parts, request, scale);
    return writeScale(this.#parts, this.#writer, request, scale);
  }

  #act(request: VerbRequest, action: ActionSubresource, on?: ServedResource): Promise<Reply> {
    return act(this.#parts, this.#writer, request, { action, on });
  }

  #view(request: VerbRequest, view: ViewSubresource): Reply | Promise<Reply> {
    if (isReadVerb(request.info.verb)) return get(this.#parts, request);
    return request.info.verb === 'patch' ? patch(this.#writer, request, view) : update(this.#writer, request, view);
  }
}

/** What is known of a request before its body is read. */
type Addressed = Pick<VerbRequest, 'info' | 'served'>;

/**
 * Throws NotFound for a scope or subresource that does not exist, MethodNotAllowed for a verb that the path does not
 * support.
 */
export function checkRequest(request: Addressed): void {
  const { info } = request;
  checkScope(request);
  if (info.verb === 'create' && info.subresource === '') checkCreation(request.served);
  const verbs = verbsAt(request);
  if (verbs.length === 0) throw noSuchPath();
  if (info.below !== undefined && !carriesPaths(request)) throw noSuchPath();
  if (!verbs.includes(info.verb) || info.watchPath?.reads === false) {
    const allowed = [...new Set(verbs.map((verb) => methods[verb]))];
    throw methodNotAllowed('the server does not allow this method on the requested resource', allowed);
  }
}

/** The verbs that the path of a request supports; empty if the path does not exist. */
function verbsAt({ served, info }: Addressed): readonly ResourceVerb[] {
  const verbs = allowedVerbs(served, info.subresource, info.name !== '');
  if (info.watchPath) return verbs.filter((verb) => verb === 'watch');
  const across = served.kind.scope === 'Namespaced' && !info.inNamespace;
  return across ? verbs.filter((verb) => verb === 'list' || verb === 'watch') : verbs;
}

export const findSubresource = ({ kind }: ServedResource, name: string): Subresource | undefined =>
  kind.subresources.find((subresource) => subresource.name === name);

/** Whether requests are passed on with the path below the subresource. */
function carriesPaths({ served, info }: Addressed): boolean {
  const found = findSubresource(served, info.subresource);
  return found?.type === 'connect' && found.carries === 'proxy';
}

/** The verbs of an object, a collection or a subresource; empty if it does not exist. */
export function allowedVerbs(served: ServedResource, subresource: string, named: boolean): readonly ResourceVerb[] {
  if (subresource !== '') {
    const found = findSubresource(served, subresource);
    return found === undefined ? [] : found.type === 'action' ? ['create'] : found.verbs;
  }
  if (served.kind.observe) return named ? ['get', 'list'] : ['list'];
  if (!storesObjects(served.kind)) return named ? [] : ['create'];
  const without = served.kind.withoutVerbs ?? [];
  return (named ? objectVerbs : collectionVerbs).filter((verb) => !without.includes(verb));
}

const objectVerbs: readonly ResourceVerb[] = ['get', 'list', 'watch', 'update', 'patch', 'delete'];
const collectionVerbs: readonly ResourceVerb[] = ['list', 'watch', 'create', 'deletecollection'];

const methods: Readonly<Record<ResourceVerb, string>> = {
  get: 'GET, HEAD',
  list: 'GET, HEAD',
  watch: 'GET, HEAD',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETE',
};

/**
 * Cluster-scoped kinds are not served below a namespace, nor namespaced objects outside one (CVE-2019-11247,
 * CVE-2022-3162).
 */
function checkScope({ served, info }: Addressed): void {
  const namespaced = served.kind.scope === 'Namespaced';
  if (!namespaced && info.inNamespace) throw noSuchPath();
  if (namespaced && !info.inNamespace && namesOne(info)) throw noSuchPath();
}

/**
 * True if the path names an object. `info.name` also holds a name that only the field selector requires, for
 * authorizers.
 */
function namesOne({ verb, name, watchPath }: ResourceRequest): boolean {
  if (watchPath) return watchPath.name !== '';
  return name !== '' && verb !== 'list' && verb !== 'watch';
}
