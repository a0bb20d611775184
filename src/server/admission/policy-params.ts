import type { FoundParams, ParamsWanted } from '../../admission/policies/policy-invocations.ts';
import type { Clock } from '../../base/time/clock.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import type { CacheEntry } from '../../cache/cache.ts';
import { parseStored } from '../../codec/json.ts';
import type { ParamKind, ParamRef } from '../../kinds/admissionregistration/policy-schema.ts';
import { storesObjects } from '../../kinds/kind.ts';
import { readLabelSelector } from '../../kinds/meta/label-selector.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { matches } from '../../meta/selectors.ts';
import { StatusError } from '../../meta/status-error.ts';
import type { ServedResource } from '../../resources/resource.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';

/** Finds the objects that parameterize policies, in the cache. Each state of an object is read once. */
export class PolicyParams {
  readonly #resources: ResourceRegistry;
  readonly #clock: Clock;
  /** By version of the kind, since each shows another object. */
  readonly #read = new WeakMap<ServedResource, WeakMap<CacheEntry, ApiObject>>();

  constructor({ resources, clock }: { readonly resources: ResourceRegistry; readonly clock: Clock }) {
    this.#resources = resources;
    this.#clock = clock;
  }

  /**
   * See `InvocationParts.params`. Texts are those of kube-apiserver. Params that cannot be converted are a fault of the binding:
   * the failure policy decides.
   */
  async find(kind: ParamKind, ref: ParamRef, wanted: ParamsWanted): Promise<FoundParams> {
    try {
      return await this.#find(kind, ref, wanted);
    } catch (error) {
      if (error instanceof StatusError) return failed(error.message);
      throw error;
    }
  }

  /** See `InvocationParts.paramKindProblem`. */
  kindProblem(kind: ParamKind): string | undefined {
    return this.#served(kind) ? undefined : notServed(kind);
  }

  async #find(
    kind: ParamKind,
    ref: ParamRef,
    { namespace: requestNamespace, signal }: ParamsWanted,
  ): Promise<FoundParams> {
    const served = this.#served(kind);
    if (!served) return failed(notServed(kind));
    const isNamespaced = served.kind.scope === 'Namespaced';
    const { name = '', namespace: wanted = '', selector } = ref;
    if (!isNamespaced && wanted !== '') {
      return failed('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
    }
    const namespace = isNamespaced ? wanted || requestNamespace : '';
    if (isNamespaced && namespace === '') {
      return failed('cannot use namespaced paramRef in policy binding that matches cluster-scoped resources');
    }
    // Nothing is waited for where the request has waited for the store that has them.
    await served.collection.line.freshFor({ signal });
    if (name !== '') {
      const entry = served.collection.get(served.objectKey(namespace, name));
      return { type: 'objects', objects: entry ? [await this.#object(served, entry)] : [] };
    }
    return { type: 'objects', objects: await this.#selected(served, namespace, selector ?? {}) };
  }

  #served({ apiVersion = '', kind }: ParamKind): ServedResource | undefined {
    const slash = apiVersion.indexOf('/');
    const group = slash < 0 ? '' : apiVersion.slice(0, slash);
    return this.#resources.table
      .ofGroup(group)
      .find((served) => served.apiVersion === apiVersion && served.kind.kind === kind && storesObjects(served.kind));
  }

  async #selected(
    served: ServedResource,
    namespace: string,
    written: NonNullable<ParamRef['selector']>,
  ): Promise<readonly ApiObject[]> {
    const selector = readLabelSelector(written) ?? [];
    const slice = new TimeSlice(this.#clock);
    const objects: ApiObject[] = [];
    for (const entry of served.collection.snapshot().entries(served.collectionKey(namespace))) {
      if (slice.over) await slice.next();
      if (matches(selector, (key) => entry.label(key))) objects.push(await this.#object(served, entry));
    }
    return objects;
  }

  async #object(served: ServedResource, entry: CacheEntry): Promise<ApiObject> {
    const read = this.#read.get(served) ?? new WeakMap<CacheEntry, ApiObject>();
    this.#read.set(served, read);
    const known = read.get(entry);
    if (known) return known;
    const bytes = served.forms ? await served.forms.bytesOf(entry, {}) : entry.bytes;
    const object = parseStored(bytes) as ApiObject;
    read.set(entry, object);
    return object;
  }
}

const failed = (why: string): FoundParams => ({ type: 'failed', why });

const notServed = ({ apiVersion = '', kind = '' }: ParamKind): string =>
  `failed to find resource referenced by paramKind: '${apiVersion}, Kind=${kind}'`;
