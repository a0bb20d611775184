import { KeyedMutex, type Turn } from '../../base/keyed-mutex.ts';
import { limits } from '../../base/limits.ts';
import { untilAborted } from '../../base/time/until-aborted.ts';
import { encodeObject } from '../../codec/json.ts';
import { insertResourceVersion } from '../../codec/object-bytes.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { AllocationFailure } from '../../kinds/allocation.ts';
import type { StrategyContext } from '../../kinds/kind.ts';
import type { Validation } from '../../kinds/validation.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import {
  allocationFailed,
  alreadyExists,
  conflict,
  existsWhileDeleted,
  notFound,
  StatusError,
  staleObject,
} from '../../meta/status-error.ts';
import { cloneJson } from '../../patch/json-value.ts';
import type { Admission, AdmissionAttributes } from '../../request/admission.ts';
import type { ResourceRequest } from '../../request/request-info.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { dropDisabledFields } from '../../schema/feature-gates.ts';
import { type BatchWrite, isStoreError, StoreError, type StoreRecord, type WriteOptions } from '../../store/store.ts';
import { toStatusError } from '../store-errors.ts';
import type { RegistryParts, VerbRequest } from '../verb.ts';
import { admissionAttributes } from './admission-attributes.ts';
import { checkCreation } from './check-creation.ts';
import { ChosenValues } from './chosen-values.ts';
import { claimWrites, isClaimTaken } from './claims.ts';
import { dedupOwnerReferences } from './dedup-owner-references.ts';
import { identityOf, keepIdentity } from './kept-identity.ts';
import { requireObjectSize } from './object-size.ts';
import {
  clearServerMetadata,
  countGeneration,
  dropSubresourceFields,
  keepAllBut,
  keepServerMetadata,
  keepStatus,
  setNewMetadata,
  startGeneration,
} from './server-metadata.ts';
import { showClaim } from './show-claim.ts';
import { type PreparedValue, stillServed } from './still-served.ts';
import { isStored, type Stored, storedOfEntry, storedOfRecord } from './stored-object.ts';
import { type TracedWrite, tracedWrite } from './traced-write.ts';
import { trackManagedFields } from './track-managed-fields.ts';
import { rejectInvalid, validateChanged, validateNew, warnAbout } from './validate-object.ts';
import { writeWithClaims } from './write-with-claims.ts';

/** The context of a write: who writes what, and how. Shared by all writing verbs. */
export interface WriteContext {
  readonly served: ServedResource;
  /** Shown to admission plugins. */
  readonly info: Pick<ResourceRequest, 'group' | 'version' | 'resource' | 'subresource' | 'namespace' | 'name'>;
  readonly user: UserInfo;
  /** The field manager. */
  readonly manager: string;
  /**
   * `tracked`: managed fields are computed from the changes. `applied`: the object already has its new managed fields.
   */
  readonly ownership: 'tracked' | 'applied';
  /** Runs every stage but stores nothing. */
  readonly dryRun: boolean;
  /** `done`: the request already passed admission in another form, such as the body of an action. */
  readonly admission: 'required' | 'done';
  /** The options that the client sent; shown to admission plugins. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The request that the write belongs to. */
  readonly request: WriteRequest;
  readonly turn: WriteTurn;
}

/** The turn of a write among those of the same object, while it has one. New objects need none. */
interface WriteTurn {
  current: Pick<Turn, 'leave'> | undefined;
}

/** What the write path uses of a request. */
type WriteRequest = Pick<
  VerbRequest,
  'served' | 'signal' | 'deadlineMs' | 'span' | 'awaitWebhook' | 'annotate' | 'warn' | 'beforeWrite'
>;

/** What waits for its turn to change an object. */
export type InTurn = Pick<VerbRequest, 'served' | 'awaitWebhook'>;

/** Result of a write. */
export type Written =
  | { readonly type: 'created'; readonly bytes: Buffer; readonly object: ApiObject }
  | { readonly type: 'stored'; readonly bytes: Buffer; readonly object: ApiObject }
  /** The object was removed; `bytes` is its last state. */
  | { readonly type: 'removed'; readonly bytes: Buffer; readonly object: ApiObject };

/** What to do with the current state. Computed again from the newer state after a lost race. */
export type Step =
  | { readonly type: 'keep' }
  /** `object` is the final state that the request gave the object, if any. */
  | { readonly type: 'remove'; readonly object?: ApiObject }
  /** `deletion`: the object is only marked for deletion, which is allowed whatever its size. */
  | { readonly type: 'put'; readonly object: ApiObject; readonly deletion?: true };

/**
 * The write path below the verbs: strategy, admission, validation and the compare-and-swap commit (design section 4).
 * It does not interpret the parameters of a verb.
 */
export class ObjectWriter {
  readonly #parts: RegistryParts;
  readonly #keys = new KeyedMutex();

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  get dialect(): Dialect {
    return this.#parts.dialect;
  }

  /** Wall clock in milliseconds. */
  now(): number {
    return this.#parts.clock.now();
  }

  /** Throws if the object may not be created, by this user or by anybody. */
  async requireCreate(request: Pick<VerbRequest, 'info' | 'user' | 'signal' | 'served'>): Promise<void> {
    const { info, user, signal } = request;
    checkCreation(request.served);
    const asked = this.#parts.requireCreate(info, user, request);
    if (asked) await untilAborted(asked, signal);
  }

  /** Context for strategies. */
  strategyContext({ user, served }: Pick<WriteContext, 'user' | 'served'>): StrategyContext {
    const { dialect, clock, inline, features, timeRules } = this.#parts;
    return { dialect, user, now: clock.now(), requested: served.kind, inline, features, timeRules };
  }

  /**
   * Creates a decoded and defaulted object, which the caller must not use afterwards. Fails with AlreadyExists; after a
   * collision a generated name is generated again.
   */
  async create(context: WriteContext, object: ApiObject): Promise<Written> {
    await this.#prepareCreate(context, object);
    const generated = object.metadata.name === undefined && object.metadata.generateName !== undefined;
    const chosen = context.served.written.strategy.allocate !== undefined;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#createOnce(context, generated || chosen ? cloneJson(object) : object);
      } catch (error) {
        const taken = isClaimTaken(error, context.served.collectionKey(''));
        const again = taken || (generated && isStoreError(error, 'exists'));
        if (again && attempt < limits.generateNameAttemptsMax) continue;
        const name = object.metadata.name ?? object.metadata.generateName ?? '';
        if (taken) throw conflict(context.served.name, name, takenMeanwhile);
        if (isStoreError(error, 'exists')) throw await this.#exists(context, name, object.metadata.namespace);
        throw toStatusError(error, context.served.name, name);
      }
    }
  }

  /** The refusal of a new object whose name is taken. */
  async #exists(context: WriteContext, name: string, namespace = ''): Promise<StatusError> {
    const { served } = context;
    const reading = this.#cached(context, served.objectKey(namespace, name));
    const stored = reading instanceof Promise ? await reading : reading;
    const deleted = stored?.object.metadata.deletionTimestamp !== undefined;
    return deleted ? existsWhileDeleted(served.name, name) : alreadyExists(served.name, name);
  }

  /** The stages of a new object up to mutating admission, which sees neither a generated name nor a uid, as in kube-apiserver. */
  async #prepareCreate(context: WriteContext, object: ApiObject): Promise<void> {
    const kind = context.served.written;
    const warn = (text: string): void => context.request.warn(text);
    const strategyContext = { ...this.strategyContext(context), warn };
    clearServerMetadata(object);
    delete object.metadata.resourceVersion;
    startGeneration(kind, object);
    kind.strategy.default?.(object, strategyContext);
    // Before managed fields are computed, and again after admission, before validation.
    const dropDisabled = (): void => dropDisabledFields(kind.schema, object, undefined, this.#parts.features);
    dropDisabled();
    if (context.ownership === 'tracked') {
      const tracking = trackManagedFields(context, object, undefined, strategyContext.now);
      if (tracking) await tracking;
    }
    dropSubresourceFields(kind, object);
    kind.strategy.prepareForCreate?.(object, strategyContext);
    const attributes = this.#creation(context, object);
    const identity = identityOf(object);
    const mutating = this.#admission(context).mutate(attributes);
    if (mutating) await mutating;
    if (attributes.replacements > 0) {
      const mayRename = context.info.name === '';
      keepIdentity(object, identity, { of: 'new', mayRename, request: context.request });
      startGeneration(kind, object);
      dropSubresourceFields(kind, object);
      kind.strategy.prepareForCreate?.(object, strategyContext);
    }
    dropDisabled();
    dedupOwnerReferences(object, 'admission', context.request);
  }

  #creation(context: WriteContext, object: ApiObject): AdmissionAttributes {
    const { strategy } = context.served.written;
    const fill = (made: ApiObject): void => strategy.default?.(made, this.strategyContext(context));
    return admissionAttributes(this.#parts, context, { operation: 'create', object, old: undefined, fill });
  }

  async #createOnce(context: WriteContext, object: ApiObject): Promise<Written> {
    const kind = context.served.written;
    const strategyContext = this.strategyContext(context);
    setNewMetadata(object, kind, this.#parts);
    if (kind.strategy.completeNew) {
      kind.strategy.completeNew(object, strategyContext);
      // kube-apiserver sets defaults whenever an object is read, so those that follow from what was completed count too.
      kind.strategy.default?.(object, strategyContext);
    }
    if (kind.strategy.allocate) await this.#allocate(context, object, undefined);
    const validating = validateNew(this.#parts, context, object, strategyContext);
    if (validating) await validating;
    warnAbout(context, object, undefined);
    const admitting = this.#admission(context).validate(this.#creation(context, object));
    if (admitting) await admitting;
    const key = context.served.objectKey(object.metadata.namespace ?? '', object.metadata.name ?? '');
    const encoded = encodeObject(object);
    requireObjectSize(encoded);
    if (context.dryRun) {
      if (await this.#parts.store.get(key)) throw new StoreError('exists', 'it is there already', { key });
      return { type: 'created', bytes: encoded, object };
    }
    const recorded = this.#record(context, 'create', object, encoded);
    const record = recorded instanceof Promise ? await recorded : recorded;
    const claims = kind.claims && (await this.#claims(context, key, { before: undefined, after: object }));
    context.request.beforeWrite();
    const { revision } = await this.#storing('Create', context, key, (options) =>
      writeWithClaims(this.#parts.store, { verb: 'create', key, value: record }, claims, options),
    );
    object.metadata.resourceVersion = String(revision);
    return { type: 'created', bytes: insertResourceVersion(encoded, revision), object };
  }

  /**
   * Reads the object, calls `step`, and commits the result if the revision is unchanged; after a lost race it reads and
   * calls `step` again. The first state comes from the cache; if `step` throws, it is called again with the state in
   * the store, so that no error is due to stale data. `absent` runs if the object does not exist; if someone else
   * creates the object meanwhile, `step` runs instead. A write with an unknown outcome is not retried: it may have been
   * committed.
   */
  change(
    context: WriteContext,
    name: string,
    step: (stored: Stored) => Step | Promise<Step>,
    absent?: () => Promise<Written>,
  ): Promise<Written> {
    const key = context.served.objectKey(context.info.namespace, name);
    return this.inTurn(context.request, key, (turn) => {
      // Waiting for its turn may have used up the deadline.
      if (turn.waited) context.request.signal.throwIfAborted();
      context.turn.current = turn;
      return this.#changeInTurn(context, { name, key, step, absent });
    });
  }

  /** Runs a change of one object, which may be made elsewhere, after the queued changes of that object. */
  inTurn<T>(request: InTurn, key: string, work: (turn: Turn) => Promise<T>): Promise<T> {
    const { served } = request;
    if (served.conversion?.type !== 'later' || !request.awaitWebhook || !this.#keys.isBusy(key)) {
      return this.#keys.run(key, work);
    }
    // Whoever has the turn may wait for the webhook, so this is a wait for it, too.
    const begun = Promise.withResolvers<void>();
    const waited = request.awaitWebhook(() => begun.promise);
    const done = this.#keys.run(key, async (turn) => {
      begun.resolve();
      await waited;
      return work(turn);
    });
    return Promise.all([done, waited]).then(([result]) => result);
  }

  async #changeInTurn(context: WriteContext, { name, key, step, absent }: ObjectChange): Promise<Written> {
    const { served, request } = context;
    const reading = this.#cached(context, key);
    const cached = reading instanceof Promise ? await reading : reading;
    let stored = cached ?? (await this.#read(context, key));
    let fresh = cached === undefined;
    for (let attempt = 0; ; attempt++) {
      try {
        if (stored) return await this.#commit(context, key, stored, await step(stored));
        if (absent) return await absent();
        throw notFound(served.name, name);
      } catch (error) {
        if (isStoreError(error, 'unknownOutcome')) throw toStatusError(error, served.name, name);
        const raced = isLostRace(error, stored, served.collectionKey(''));
        if (raced && attempt >= limits.writeAttemptsMax) throw conflict(served.name, name, staleObject);
        if (!raced && fresh) throw toStatusError(error, served.name, name);
        request.signal.throwIfAborted();
        const latest = await this.#latest(context, key);
        if (!raced && latest?.revision === stored?.revision) throw toStatusError(error, served.name, name);
        stored = latest && (await storedOfRecord(served, latest, request));
        fresh = true;
      }
    }
  }

  #cached({ served, request }: WriteContext, key: string): Stored | Promise<Stored> | undefined {
    const entry = served.collection.get(key);
    return entry && storedOfEntry(served, entry, request);
  }

  async #read(context: WriteContext, key: string): Promise<Stored | undefined> {
    const record = await this.#latest(context, key);
    return record && storedOfRecord(context.served, record, context.request);
  }

  #latest({ served, request: { signal } }: WriteContext, key: string): Promise<StoreRecord | undefined> {
    return untilAborted(this.#parts.store.get(key), signal).catch((error) => {
      signal.throwIfAborted();
      throw toStatusError(error, served.name, '');
    });
  }

  async #commit(context: WriteContext, key: string, stored: Stored, step: Step): Promise<Written> {
    const { store } = this.#parts;
    const { claims: claimed } = context.served.written;
    switch (step.type) {
      case 'keep':
        await this.#requireCurrent(context, key, stored);
        return { type: 'stored', bytes: stored.bytes, object: stored.object };
      case 'remove':
        if (context.dryRun) await this.#requireCurrent(context, key, stored);
        else {
          const claims = claimed && (await this.#claims(context, key, { before: stored.object, after: undefined }));
          context.request.beforeWrite();
          await this.#storing('Delete', context, key, (options) =>
            writeWithClaims(store, { verb: 'delete', key, expected: stored.revision }, claims, options),
          );
        }
        return { type: 'removed', ...shownRemoved(step, stored) };
      case 'put': {
        const { object } = step;
        const { countUpdate } = context.served.written.strategy;
        const encoded = encodeObject(object);
        // A write that changes nothing creates no new revision, unless the stored form is stale.
        const same = !stored.stale && isStored(object, encoded, stored);
        const outdated = same && this.#becameStale(context, key, stored);
        const unchanged = same && !(outdated instanceof Promise ? await outdated : outdated);
        if (!step.deletion) requireObjectSize(encoded, stored);
        if (unchanged || context.dryRun) await this.#requireCurrent(context, key, stored);
        if (unchanged) return { type: 'stored', bytes: stored.bytes, object: stored.object };
        if (context.dryRun) return { type: 'stored', bytes: insertResourceVersion(encoded, stored.revision), object };
        const recorded = this.#record(context, 'update', object, encoded);
        const record = recorded instanceof Promise ? await recorded : recorded;
        const claims = claimed && (await this.#claims(context, key, { before: stored.object, after: object }));
        const update = { verb: 'update', key, value: record, expected: stored.revision } as const;
        context.request.beforeWrite();
        const { revision } = await this.#storing('GuaranteedUpdate', context, key, (options) =>
          writeWithClaims(store, update, claims, { ...options, deletion: step.deletion === true }),
        );
        object.metadata.resourceVersion = String(revision);
        for (const counted of countUpdate?.(object, stored.object) ?? []) this.#parts.count(counted);
        return { type: 'stored', bytes: insertResourceVersion(encoded, revision), object };
      }
    }
  }

  /** Whether the stored form is outdated since the state was read. No promise where that cannot be. */
  #becameStale(context: WriteContext, key: string, { revision }: Stored): boolean | Promise<boolean> {
    if (!this.#parts.store.formMayChange?.(key)) return false;
    return this.#latest(context, key).then((record) => record?.revision === revision && record.stale === true);
  }

  /** Has the kind fill in what the server chooses. */
  async #allocate(context: WriteContext, object: ApiObject, old: ApiObject | undefined): Promise<void> {
    const { pools, store, resources, random, clock, count } = this.#parts;
    const { strategy } = context.served.written;
    const chosen = new ChosenValues({ pools: pools(), store, scope: resources.scope, random, clock, count });
    const filling = strategy.allocate?.(object, old, chosen) ?? [];
    const errors = await untilAborted(Promise.resolve(filling), context.request.signal).catch((error) => {
      throw error instanceof AllocationFailure ? allocationFailed(error) : error;
    });
    rejectInvalid(context, object, errors);
  }

  /** What a write changes of the claims of its object. */
  #claims(
    { served, user, request: { signal } }: WriteContext,
    key: string,
    change: { readonly before: ApiObject | undefined; readonly after: ApiObject | undefined },
  ): Promise<readonly BatchWrite[]> {
    const { store, resources } = this.#parts;
    const claimed = { kind: served.written, scope: resources.scope, key, ...change };
    return untilAborted(claimWrites(store, claimed, showClaim(this.#parts, user)), signal);
  }

  #storing<T>(
    operation: TracedWrite['operation'],
    { served, request: { span } }: WriteContext,
    key: string,
    write: (options: WriteOptions) => Promise<T>,
  ): Promise<T> {
    return tracedWrite({ operation, span, storeName: this.#parts.storeName, served, key }, write);
  }

  /**
   * A no-op is not checked by the store. It must hold for the newest state; otherwise an acknowledged no-op could
   * contradict a write acknowledged before it.
   */
  async #requireCurrent({ served, request }: WriteContext, key: string, stored: Stored): Promise<void> {
    const { line } = served.collection;
    if (!line.isFresh()) await line.fresh(request.signal);
    const newest = served.collection.get(key)?.revision;
    if (newest !== undefined && newest > stored.revision)
      throw new StoreError('conflict', 'a newer state is there', { key });
    if (newest === undefined) throw new StoreError('notFound', 'it was removed meanwhile', { key });
  }

  /**
   * Runs a changed object through strategy, admission and validation. `view` is the strategy of the endpoint that was
   * written to (the object or a subresource). A resourceVersion of the object is the stored one.
   */
  async prepareUpdate(context: WriteContext, object: ApiObject, stored: Stored, view: UpdateView): Promise<Step> {
    const kind = context.served.written;
    const old = stored.object;
    const strategyContext = this.strategyContext(context);
    kind.strategy.default?.(object, strategyContext);
    const dropDisabled = (): void => {
      if (!view.keepsGatedFields) dropDisabledFields(kind.schema, object, old, this.#parts.features);
    };
    dropDisabled();
    keepServerMetadata(object, old);
    const isMain = view === kind.strategy;
    // Restore what the subresource must not change first, so that the writer does not come to own it.
    const keepOthers = (): void => {
      if (isMain) return;
      if (view.fields) keepAllBut(view.fields, object, old);
      view.prepareForUpdate?.(object, old, strategyContext);
    };
    keepOthers();
    if (context.ownership === 'tracked') {
      const tracking = trackManagedFields(context, object, old, strategyContext.now);
      if (tracking) await tracking;
    }
    const keepServerFields = (): void => {
      if (isMain) {
        keepStatus(kind, object, old);
        kind.strategy.prepareForUpdate?.(object, old, strategyContext);
      }
      countGeneration(kind, object, old, isMain);
    };
    keepServerFields();
    const admission = this.#admission(context);
    const fill = (made: ApiObject): void => kind.strategy.default?.(made, strategyContext);
    const attributes = admissionAttributes(this.#parts, context, { operation: 'update', object, old, fill });
    const identity = identityOf(object);
    const mutating = admission.mutate(attributes);
    if (mutating) await mutating;
    if (attributes.replacements > 0) {
      keepIdentity(object, identity, { of: 'stored', request: context.request });
      keepServerMetadata(object, old);
      keepOthers();
      keepServerFields();
    }
    requireSameState(context, object, old);
    dropDisabled();
    dedupOwnerReferences(object, 'admission', context.request);
    if (isMain && kind.strategy.allocate) await this.#allocate(context, object, old);
    const validating = validateChanged(this.#parts, context, object, { old, view, strategyContext });
    if (validating) await validating;
    if (isMain) warnAbout(context, object, old);
    const admitting = admission.validate(attributes);
    if (admitting) await admitting;
    // The store gives it one.
    delete object.metadata.resourceVersion;
    return this.#isReleased(context, object) ? { type: 'remove', object } : { type: 'put', object };
  }

  /** Spec section 3.2: an object marked for deletion is removed with its last finalizer. */
  #isReleased({ served }: WriteContext, object: ApiObject): boolean {
    const { metadata } = object;
    return (
      metadata.deletionTimestamp !== undefined &&
      (metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
      pendingFinalizers(served, object).length === 0
    );
  }

  /** Runs the admission chain of a deletion. In one of a collection the request has no name, as in kube-apiserver. */
  async admitDelete(context: WriteContext, old: ApiObject): Promise<void> {
    const admission = this.#admission(context);
    const { name } = context.info;
    const attributes = admissionAttributes(this.#parts, context, { operation: 'delete', name, object: undefined, old });
    const mutating = admission.mutate(attributes);
    if (mutating) await mutating;
    const admitting = admission.validate(attributes);
    if (admitting) await admitting;
  }

  /** The value to store for an object that is encoded as it is written. A promise only where somebody else converts. */
  #record(
    { served, request }: WriteContext,
    operation: PreparedValue['operation'],
    object: ApiObject,
    encoded: Buffer,
  ): Buffer | Promise<Buffer> {
    const { resources } = this.#parts;
    const { resource } = served;
    const stored = served.toStored(object, encoded, request);
    const value =
      stored instanceof Promise
        ? stored.then((converted) => stillServed(resources, { operation, resource, value: converted, caller: request }))
        : stillServed(resources, { operation, resource, value: stored, caller: request });
    if (!(value instanceof Promise)) return value;
    return untilAborted(value, request.signal).then((record) => {
      requireObjectSize(record);
      return record;
    });
  }

  #admission({ admission }: WriteContext): Admission {
    return admission === 'done' ? admitted : this.#parts.admission;
  }
}

const takenMeanwhile = 'others took the values that were chosen for it; please try again';

const admitted: Admission = { mutate() {}, validate() {} };

/** The object shown for a removal: the state that the request gave it, else the stored one. */
function shownRemoved(
  { object }: Extract<Step, { type: 'remove' }>,
  stored: Stored,
): Pick<Written, 'bytes' | 'object'> {
  if (!object) return { bytes: stored.bytes, object: stored.object };
  return { bytes: insertResourceVersion(encodeObject(object), stored.revision), object };
}

/** A change of one object, as a verb requests it. */
interface ObjectChange {
  readonly name: string;
  readonly key: string;
  readonly step: (stored: Stored) => Step | Promise<Step>;
  readonly absent: (() => Promise<Written>) | undefined;
}

/** A plugin may ask for a state of the object; those that validate see the one that is replaced, as in kube-apiserver. */
function requireSameState({ served, info }: WriteContext, { metadata }: ApiObject, old: ApiObject): void {
  const { resourceVersion: stored = '' } = old.metadata;
  if (isVersion(metadata.resourceVersion) && metadata.resourceVersion !== stored) {
    throw conflict(served.name, info.name, staleObject);
  }
  metadata.resourceVersion = stored;
}

const isVersion = (sent: string | undefined): boolean => sent !== undefined && sent !== '' && sent !== '0';

/** How one endpoint updates an object: the object itself, or a subresource of type `view`. */
export interface UpdateView {
  readonly fields?: readonly string[];
  readonly keepsGatedFields?: true;
  readonly prepareForUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => void;
  readonly validateUpdate?: (object: ApiObject, old: ApiObject, context: StrategyContext) => Validation;
}

/** Someone else changed, removed or created the object after it was read. */
const isLostRace = (error: unknown, stored: Stored | undefined, own: string): boolean =>
  stored
    ? isStoreError(error, 'conflict') || isStoreError(error, 'notFound') || isClaimTaken(error, own)
    : error instanceof StatusError && error.reason === 'AlreadyExists';

/** Everything that blocks the removal: finalizers, and those of the strategy. */
export const pendingFinalizers = ({ kind }: ServedResource, object: ApiObject): readonly string[] => [
  ...(object.metadata.finalizers ?? []),
  ...(kind.strategy.finalizers?.(object) ?? []),
];
