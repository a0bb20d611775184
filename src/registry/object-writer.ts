import { equalValues } from '../apply/equal-values.ts';
import { limits } from '../base/limits.ts';
import { insertResourceVersion } from '../codec/encoded.ts';
import { encodeObject, parseStored } from '../codec/json.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { Kind, StrategyContext } from '../kinds/kind.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../kinds/meta/metadata-validation.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { FieldError } from '../meta/field-error.ts';
import { alreadyExists, conflict, internalError, invalidObject, notFound, staleObject } from '../meta/status-error.ts';
import type { AdmissionAttributes } from '../request/admission.ts';
import type { ResourceRequest } from '../request/request-info.ts';
import type { UserInfo } from '../request/user-info.ts';
import { formatTime } from '../schema/time.ts';
import { validate, validateUpdate } from '../schema/validate.ts';
import { isStoreError, type Revision, type StoreRecord } from '../store/store.ts';
import { trackOwners } from './ownership.ts';
import type { ServedResource } from './resource-registry.ts';
import { toStatusError } from './store-errors.ts';
import type { RegistryParts } from './verb.ts';

/** Who writes what, and whether it is kept. The same for every verb that writes. */
export interface WriteContext {
  readonly served: ServedResource;
  /** Shown to admission plugins. */
  readonly info: Pick<ResourceRequest, 'group' | 'version' | 'resource' | 'subresource' | 'namespace'>;
  readonly user: UserInfo;
  /** Owns the fields that are written. */
  readonly manager: string;
  /** Every stage runs, nothing is kept. */
  readonly dryRun: boolean;
  warn(text: string): void;
}

/** An object as it is stored now. */
export interface Stored {
  readonly object: ApiObject;
  /** JSON with the resourceVersion in place. */
  readonly bytes: Buffer;
  readonly revision: Revision;
}

/** What became of a write. */
export type Written =
  | { readonly type: 'stored'; readonly bytes: Buffer; readonly object: ApiObject }
  /** The object was removed; `bytes` shows its last state. */
  | { readonly type: 'removed'; readonly bytes: Buffer; readonly object: ApiObject };

/** What to do with the current state. Runs again with a newer state after a lost race. */
export type Step =
  | { readonly type: 'keep' }
  | { readonly type: 'remove' }
  | { readonly type: 'put'; readonly object: ApiObject };

/**
 * The write path below the verbs: strategy, admission, validation and the commit with the revision that was read
 * (design section 4). It decides nothing about a verb's parameters.
 */
export class ObjectWriter {
  readonly #parts: RegistryParts;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  get dialect(): Dialect {
    return this.#parts.dialect;
  }

  /** Wall-clock milliseconds. */
  now(): number {
    return this.#parts.clock.now();
  }

  /** Refuses a request that would create an object although its user may not. */
  async requireCreate({ info, user }: { readonly info: ResourceRequest; readonly user: UserInfo }): Promise<void> {
    await this.#parts.requireCreate(info, user);
  }

  /** What strategies may look at. */
  strategyContext(user: UserInfo): StrategyContext {
    return { dialect: this.#parts.dialect, user, now: this.#parts.clock.now() };
  }

  /**
   * Creates an object that was decoded and defaulted. The caller gives up the object. Fails with AlreadyExists; a
   * generated name is drawn again after a collision.
   */
  create(context: WriteContext, object: ApiObject): Promise<Written> {
    return this.#create(context, object, 'tracked');
  }

  /** The same for an object that comes of an apply, and says who owns what. */
  createApplied(context: WriteContext, object: ApiObject): Promise<Written> {
    return this.#create(context, object, 'applied');
  }

  async #create(context: WriteContext, object: ApiObject, ownership: Ownership): Promise<Written> {
    const generated = object.metadata.name === undefined && object.metadata.generateName !== undefined;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#createOnce(context, generated ? structuredClone(object) : object, ownership);
      } catch (error) {
        const taken = isStoreError(error, 'exists');
        if (!taken || !generated || attempt === limits.generateNameAttemptsMax) {
          throw toStatusError(error, context.served.name, object.metadata.name ?? object.metadata.generateName ?? '');
        }
      }
    }
  }

  async #createOnce(context: WriteContext, object: ApiObject, ownership: Ownership): Promise<Written> {
    const { kind } = context.served;
    const strategyContext = this.strategyContext(context.user);
    this.#prepareMetadata(object);
    kind.strategy.default?.(object, strategyContext);
    if (ownership === 'tracked') trackOwners(context, object, undefined, strategyContext.now);
    kind.strategy.prepareForCreate?.(object, strategyContext);
    const attributes = this.#attributes(context, 'create', object, undefined);
    await this.#parts.admission.mutate(attributes);
    rejectInvalid(context, object, [
      ...validateObjectMeta(kind, object),
      ...validate(kind.schema, object),
      ...(kind.strategy.validateCreate?.(object, strategyContext) ?? []),
    ]);
    for (const warning of kind.strategy.warnings?.(object, undefined) ?? []) context.warn(warning);
    await this.#parts.admission.validate(attributes);
    const key = context.served.objectKey(object.metadata.namespace ?? '', object.metadata.name ?? '');
    const encoded = encodeObject(object);
    if (context.dryRun) {
      if (context.served.collection.get(key)) throw alreadyExists(context.served.name, object.metadata.name ?? '');
      return { type: 'stored', bytes: encoded, object };
    }
    const { revision } = await this.#parts.store.create(key, encoded);
    object.metadata.resourceVersion = String(revision);
    return { type: 'stored', bytes: insertResourceVersion(encoded, revision), object };
  }

  /** Fields of a new object that are the server's to set (spec section 2.1). */
  #prepareMetadata(object: ApiObject): void {
    const { metadata } = object;
    const { clock, random } = this.#parts;
    if (metadata.name === undefined && metadata.generateName !== undefined) {
      metadata.name = `${metadata.generateName.slice(0, limits.labelLengthMax - suffixLength)}${this.#suffix()}`;
    }
    metadata.uid = random.uuid();
    metadata.creationTimestamp = formatTime(clock.now());
    delete metadata.deletionTimestamp;
    delete metadata.deletionGracePeriodSeconds;
    delete metadata.selfLink;
    delete metadata.resourceVersion;
    delete metadata.generation;
  }

  /** Five characters that spell no words. */
  #suffix(): string {
    return Array.from(
      this.#parts.random.bytes(suffixLength),
      (byte) => suffixAlphabet[byte % suffixAlphabet.length],
    ).join('');
  }

  /**
   * Reads the object, lets `step` say what becomes of it, and commits that with the revision that was read; after a lost
   * race it reads and asks again. The first state comes from the cache; when `step` refuses it, it is asked again with
   * what the store has, so that no error comes from a state that is out of date. `absent` runs where there is none.
   */
  async change(
    context: WriteContext,
    name: string,
    step: (stored: Stored) => Step | Promise<Step>,
    absent?: () => Promise<Written>,
  ): Promise<Written> {
    const { served } = context;
    const key = served.objectKey(context.info.namespace, name);
    let stored = this.#cached(served, key) ?? (await this.#read(served, key));
    let fresh = false;
    for (let attempt = 0; ; attempt++) {
      if (!stored) {
        if (absent) return absent();
        throw notFound(served.name, name);
      }
      try {
        return await this.#commit(context, key, stored, await step(stored));
      } catch (error) {
        const raced = isStoreError(error, 'conflict') || isStoreError(error, 'notFound');
        if (raced && attempt >= limits.writeAttemptsMax) throw conflict(served.name, name, staleObject);
        if (!raced && fresh) throw toStatusError(error, served.name, name);
        const latest = await this.#read(served, key);
        if (!raced && latest?.revision === stored.revision) throw toStatusError(error, served.name, name);
        stored = latest;
        fresh = true;
      }
    }
  }

  #cached(served: ServedResource, key: string): Stored | undefined {
    const entry = served.collection.get(key);
    return entry && { object: readStored(entry.bytes), bytes: entry.bytes, revision: entry.revision };
  }

  async #read(served: ServedResource, key: string): Promise<Stored | undefined> {
    const record = await this.#parts.store.get(key).catch((error) => {
      throw toStatusError(error, served.name, '');
    });
    return record && readRecord(record);
  }

  async #commit(context: WriteContext, key: string, stored: Stored, step: Step): Promise<Written> {
    switch (step.type) {
      case 'keep':
        return { type: 'stored', bytes: stored.bytes, object: stored.object };
      case 'remove':
        if (!context.dryRun) await this.#parts.store.delete(key, stored.revision);
        return { type: 'removed', bytes: stored.bytes, object: stored.object };
      case 'put': {
        const { object } = step;
        const encoded = encodeObject(object);
        // A write that changes nothing makes no new revision.
        if (isSame(object, encoded, stored)) return { type: 'stored', bytes: stored.bytes, object: stored.object };
        if (context.dryRun) return { type: 'stored', bytes: insertResourceVersion(encoded, stored.revision), object };
        const { revision } = await this.#parts.store.update(key, encoded, stored.revision);
        object.metadata.resourceVersion = String(revision);
        return { type: 'stored', bytes: insertResourceVersion(encoded, revision), object };
      }
    }
  }

  /**
   * Takes a changed object through strategy, admission and validation; what comes back may be committed. `view` changes
   * what one door to the object may change.
   */
  prepareUpdate(context: WriteContext, object: ApiObject, stored: Stored, view: UpdateView): Promise<Step> {
    return this.#prepare(context, object, stored, view, 'tracked');
  }

  /** The same for an object that comes of an apply, and says who owns what. */
  prepareApplied(context: WriteContext, object: ApiObject, stored: Stored, view: UpdateView): Promise<Step> {
    return this.#prepare(context, object, stored, view, 'applied');
  }

  async #prepare(
    context: WriteContext,
    object: ApiObject,
    stored: Stored,
    view: UpdateView,
    ownership: Ownership,
  ): Promise<Step> {
    const { kind } = context.served;
    const old = stored.object;
    const strategyContext = this.strategyContext(context.user);
    kind.strategy.default?.(object, strategyContext);
    if (ownership === 'tracked') trackOwners(context, object, old, strategyContext.now);
    keepServerMetadata(object, old);
    if (view === kind.strategy) keepStatus(kind, object, old);
    view.prepareForUpdate?.(object, old, strategyContext);
    if (kind.generation && changesBesideMetadataAndStatus(object, old)) {
      object.metadata.generation = (old.metadata.generation ?? 0) + 1;
    }
    const attributes = this.#attributes(context, 'update', object, old);
    await this.#parts.admission.mutate(attributes);
    rejectInvalid(context, object, [
      ...validateObjectMeta(kind, object),
      ...validateObjectMetaUpdate(object, old),
      ...validate(kind.schema, object),
      ...validateUpdate(kind.schema, object, old),
      ...(view.validateUpdate?.(object, old, strategyContext) ?? []),
    ]);
    for (const warning of kind.strategy.warnings?.(object, old) ?? []) context.warn(warning);
    await this.#parts.admission.validate(attributes);
    return this.#isReleased(context, object) ? { type: 'remove' } : { type: 'put', object };
  }

  /** Spec section 3.2: an object that waits for deletion goes with its last finalizer. */
  #isReleased({ served }: WriteContext, object: ApiObject): boolean {
    const { metadata } = object;
    return (
      metadata.deletionTimestamp !== undefined &&
      (metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
      pendingFinalizers(served, object).length === 0
    );
  }

  /** Runs the admission chain of a deletion. */
  async admitDelete(context: WriteContext, old: ApiObject): Promise<void> {
    const attributes = this.#attributes(context, 'delete', undefined, old);
    await this.#parts.admission.mutate(attributes);
    await this.#parts.admission.validate(attributes);
  }

  #attributes(
    context: WriteContext,
    operation: AdmissionAttributes['operation'],
    object: ApiObject | undefined,
    old: ApiObject | undefined,
  ): AdmissionAttributes {
    const { group, version, kind } = context.served.kind;
    return {
      operation,
      info: context.info,
      name: (object ?? old)?.metadata.name ?? '',
      kind: { group, version, kind },
      object,
      old,
      user: context.user,
      dryRun: context.dryRun,
      warn: (text) => context.warn(text),
    };
  }
}

/** `tracked`: who owns what follows from what the write changes. `applied`: the object says so already. */
type Ownership = 'tracked' | 'applied';

/** One door to an object: the object itself, or a subresource of type `view`. */
export interface UpdateView {
  readonly prepareForUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => void;
  readonly validateUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => readonly FieldError[];
}

const suffixLength = 5;
const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

const readStored = (bytes: Buffer): ApiObject => parseStored(bytes) as ApiObject;

/** Of a value that came straight from the store: it may have been damaged, or written with a key that is lost. */
function readRecord({ key, value, revision }: StoreRecord): Stored {
  try {
    const bytes = insertResourceVersion(value, revision);
    return { object: readStored(bytes), bytes, revision };
  } catch (error) {
    throw internalError(new Error(`the stored value of ${key} at ${revision} cannot be read`, { cause: error }));
  }
}

/** Whatever the order of their fields, the same objects are equally long. */
function isSame(object: ApiObject, encoded: Buffer, stored: Stored): boolean {
  const bytes = insertResourceVersion(encoded, stored.revision);
  if (bytes.length !== stored.bytes.length) return false;
  if (bytes.equals(stored.bytes)) return true;
  const { resourceVersion } = stored.object.metadata;
  const versioned = {
    ...object,
    metadata: { ...object.metadata, ...(resourceVersion !== undefined && { resourceVersion }) },
  };
  return equalValues(versioned, stored.object);
}

/** All that holds a deletion back. */
export const pendingFinalizers = ({ kind }: ServedResource, object: ApiObject): readonly string[] => [
  ...(object.metadata.finalizers ?? []),
  ...(kind.strategy.finalizers?.(object) ?? []),
];

/** Fields that no client changes by an update. A client that leaves them out keeps them; one that changes `uid` is refused. */
function keepServerMetadata(object: ApiObject, old: ApiObject): void {
  const { metadata } = object;
  metadata.name ??= old.metadata.name ?? '';
  metadata.uid ??= old.metadata.uid ?? '';
  keep(metadata, old.metadata, 'creationTimestamp');
  keep(metadata, old.metadata, 'deletionTimestamp');
  keep(metadata, old.metadata, 'deletionGracePeriodSeconds');
  keep(metadata, old.metadata, 'generation');
  keep(metadata, old.metadata, 'generateName');
  delete metadata.selfLink;
}

/** The status of kinds that have a door of its own for it changes only through that door. */
function keepStatus(kind: Kind, object: ApiObject, old: ApiObject): void {
  if (!kind.subresources.some(({ name }) => name === 'status')) return;
  if (old['status'] === undefined) delete object['status'];
  else object['status'] = structuredClone(old['status']);
}

function keep<K extends keyof ApiObject['metadata']>(
  metadata: ApiObject['metadata'],
  old: ApiObject['metadata'],
  field: K,
): void {
  const value = old[field];
  if (value === undefined) delete metadata[field];
  else metadata[field] = value;
}

/** What `generation` counts: changes of the wish, not of bookkeeping or of what was observed. */
function changesBesideMetadataAndStatus(object: ApiObject, old: ApiObject): boolean {
  const names = new Set([...Object.keys(object), ...Object.keys(old)]);
  for (const name of names) {
    if (name === 'metadata' || name === 'status') continue;
    if (JSON.stringify(object[name]) !== JSON.stringify(old[name])) return true;
  }
  return false;
}

function rejectInvalid({ served: { kind } }: WriteContext, object: ApiObject, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject(kind, object.metadata.name ?? '', errors);
}
