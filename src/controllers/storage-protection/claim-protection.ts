import type { Closable } from '../../base/disposable.ts';
import { Informer } from '../../client/informer.ts';
import { listPages } from '../../client/list-pages.ts';
import { readMetadata, readMetadataEvent } from '../../client/read-metadata.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { claimProtection } from '../../kinds/core/storage-protection.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';
import { ClaimUsers, type UsedClaims, usedClaims } from './claim-users.ts';
import { type ProtectionState, protectionState, settleProtection } from './protection.ts';

/** Lets claims that are to be deleted go when no pod uses them. */
export const startClaimProtection = (context: ControllerContext): Closable => new ClaimProtection(context);

const parallel = 5;
/** Claims of one namespace that are written at one time. */
const writesAtOnce = 8;

interface Claim {
  /** `namespace/name` */
  readonly key: string;
  readonly uid: string;
  readonly state: ProtectionState;
  /** uid of the pod or other object that the claim was made for. */
  readonly controller: string | undefined;
}

interface FollowedPods {
  readonly informer: Informer<UsedClaims>;
  readonly users: ClaimUsers;
}

const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'));

/**
 * Works by namespaces: the pods of one are listed once for all of its claims. Pods are followed only while a claim waits for
 * some, so that they cost nothing otherwise.
 */
class ClaimProtection implements Closable {
  readonly #context: ControllerContext;
  readonly #finalizer: string;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<string>;
  /** Claims with something to do, by namespace and key. */
  readonly #pending = new Map<string, Map<string, Claim>>();
  /** Keys of claims that wait for pods. */
  readonly #waiting = new Set<string>();
  #pods: FollowedPods | undefined;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#finalizer = claimProtection(context.dialect);
    this.#queue = this.#held.add(
      new WorkQueue({ ...context, name: 'pvcprotection', parallel, work: (namespace) => this.#work(namespace) }),
    );
    this.#held.add(
      new Informer<Claim | 'settled'>({
        ...context,
        client: context.reader,
        path: resourcePath({ resource: 'persistentvolumeclaims' }),
        read: readMetadataEvent,
        readItem: readMetadata,
        select: (object) => readClaim(object, this.#finalizer),
        changed: (key, now) => this.#claimChanged(key, now === 'settled' ? undefined : now),
      }),
    );
  }

  #claimChanged(key: string, now: Claim | undefined): void {
    const namespace = namespaceOf(key);
    const pending = this.#pending.get(namespace);
    if (now) {
      if (pending) pending.set(key, now);
      else this.#pending.set(namespace, new Map([[key, now]]));
      this.#queue.add(namespace);
    } else if (pending?.delete(key)) {
      if (pending.size === 0) this.#pending.delete(namespace);
      this.#waiting.delete(key);
      this.#followPods();
    }
  }

  async #work(namespace: string): Promise<void> {
    const claims = [...(this.#pending.get(namespace)?.values() ?? [])];
    const unprotected = claims.filter(({ state }) => state === 'add');
    const leaving = claims.filter(({ state }) => state === 'check');
    const unused = await this.#unused(namespace, leaving);
    for (const claim of leaving) {
      // It may have gone meanwhile.
      if (!unused.has(claim) && this.#pending.get(namespace)?.has(claim.key)) this.#waiting.add(claim.key);
      else this.#waiting.delete(claim.key);
    }
    this.#followPods();
    await this.#settle([...unprotected, ...unused]);
  }

  /** Those that no pod uses. What the followed pods do not use is looked up, since they may be behind. */
  async #unused(namespace: string, claims: readonly Claim[]): Promise<ReadonlySet<Claim>> {
    const free = claims.filter(({ key, controller }) => !this.#pods?.users.has(key, controller));
    if (free.length === 0) return new Set();
    const users = new ClaimUsers();
    const path = resourcePath({ resource: 'pods', namespace });
    const { client, clock } = this.#context;
    for await (const { items } of listPages({ client, path, clock, signal: this.#held.signal })) {
      for (const pod of items) users.replace(pod.metadata.name ?? '', [], usedClaims(pod));
    }
    return new Set(free.filter(({ key, controller }) => !users.has(key, controller)));
  }

  /** All are tried; rejects with the first failure. */
  async #settle(claims: readonly Claim[]): Promise<void> {
    const failures: unknown[] = [];
    for (let at = 0; at < claims.length; at += writesAtOnce) {
      const settled = await Promise.allSettled(claims.slice(at, at + writesAtOnce).map((claim) => this.#write(claim)));
      for (const each of settled) if (each.status === 'rejected') failures.push(each.reason);
    }
    if (failures.length > 0) throw failures[0];
  }

  async #write({ key, uid, state }: Claim): Promise<void> {
    if (state === 'settled') return;
    const namespace = namespaceOf(key);
    const path = resourcePath({ resource: 'persistentvolumeclaims', namespace, name: key.slice(namespace.length + 1) });
    const { client } = this.#context;
    await settleProtection(state, { client, path, uid, finalizer: this.#finalizer, signal: this.#held.signal });
  }

  /** Follows pods while a claim waits for some. */
  #followPods(): void {
    if (this.#waiting.size === 0) {
      this.#pods?.informer.close();
      this.#pods = undefined;
    } else if (!this.#held.signal.aborted) this.#pods ??= this.#openPods();
  }

  #openPods(): FollowedPods {
    const users = new ClaimUsers();
    const informer = new Informer<UsedClaims>({
      ...this.#context,
      client: this.#context.reader,
      path: resourcePath({ resource: 'pods' }),
      select: usedClaims,
      changed: (key, now = [], before = []) => {
        users.replace(key, before, now);
        for (const claim of before) {
          const isLeft = !now.some((each) => each.key === claim.key && each.madeFor === claim.madeFor);
          if (isLeft && this.#waiting.has(claim.key)) this.#queue.add(namespaceOf(claim.key));
        }
      },
      // Pods may have gone since they were looked up.
      synced: () => {
        for (const key of this.#waiting) this.#queue.add(namespaceOf(key));
      },
    });
    return { informer, users };
  }

  close(): void {
    this.#pods?.informer.close();
    this.#held.close();
  }
}

function readClaim(object: ApiObject, finalizer: string): Claim | 'settled' {
  const { namespace, name, uid = '', ownerReferences = [] } = object.metadata;
  const state = protectionState(object, finalizer);
  if (state === 'settled') return state;
  const controller = ownerReferences.find((owner) => owner.controller)?.uid;
  return { key: `${namespace}/${name}`, uid, state, controller };
}
