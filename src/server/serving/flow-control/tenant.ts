import { Roster } from '../../../base/collections/roster.ts';
import { limits } from '../../../base/limits.ts';
import { Sender } from '../../../http/flood-gate.ts';
import { FairShare, type Holding } from './fair-share.ts';
import type { Level, TenantQueue } from './tenant-queue.ts';
import type { Ticket } from './ticket.ts';

/**
 * The unit of fair sharing: a user, or all service accounts of a namespace together, since whoever may create one of
 * those may create a thousand. Impersonation does not change the tenant.
 */
export class Tenant {
  readonly shared: SharedLimits;
  readonly sender = new Sender();
  readonly requests: Holding = { held: 0 };
  readonly authorizations: Holding = { held: 0 };
  readonly webhookWaits: Holding = { held: 0 };
  /** Connections to nodes and pods. */
  readonly connections: Holding = { held: 0 };
  readonly compressors: Holding = { held: 0 };
  readonly bodies: Holding = { held: 0 };
  readonly bodyBytes: Holding = { held: 0 };
  readonly unreadBytes: Holding = { held: 0 };
  /** Requests whose answers the client has not fully read, in the order of the answers. */
  readonly unread = new Roster<Ticket>();
  /** Its seats and waiting requests, by level. */
  readonly queues = new Map<Level, TenantQueue>();

  constructor(shared: SharedLimits) {
    this.shared = shared;
  }

  /** True if the tenant holds nothing. A request whose client is gone may keep its seat until its work ends. */
  get isIdle(): boolean {
    const { requests, webhookWaits, connections, bodies, bodyBytes, unreadBytes } = this;
    for (const { held } of [requests, webhookWaits, connections, bodies, bodyBytes, unreadBytes])
      if (held > 0) return false;
    // Connections without requests, or with watches only, keep their places.
    if (this.sender.largeWriters > 0) return false;
    for (const { inFlight, waiting } of this.queues.values()) if (inFlight + waiting.size > 0) return false;
    return true;
  }
}

/** Limits that tenants share. Exempt tenants have a separate instance, which others cannot exhaust. */
export class SharedLimits {
  /** Requests under way, except watches: from authentication until the client has the answer. */
  readonly requests = new FairShare(limits.requestsUnderWayMax);
  /** Requests waiting for an asynchronous authorizer, for example a webhook. */
  readonly authorizations = new FairShare(limits.authorizationsWaitingMax);
  /** Requests waiting for a webhook, without a seat. */
  readonly webhookWaits = new FairShare(limits.webhookWaitsMax);
  /** Connections to nodes and pods, for as long as they are open. */
  readonly connections = new FairShare(limits.backendConnectionsMax);
  /** Lists that are compressed while they are sent. */
  readonly compressors = new FairShare(limits.listCompressorsMax);
  /** Bodies being received. */
  readonly bodies = new FairShare(limits.bodiesReceivedAtOnceMax);
  /** Bytes of bodies, from their arrival until the request is answered. */
  readonly bodyBytes = new FairShare(limits.bodyBytesHeldMax);
  /** Bytes of answers that clients have not read. */
  readonly unreadBytes = new FairShare(limits.unreadBytesMax);
  readonly #tenants = new Map<string, Tenant>();
  #sizeMax: number = limits.idleTenantsKept;

  tenant(name: string): Tenant {
    return this.#tenants.get(name) ?? this.#add(name);
  }

  /** Those in memory, idle ones too. */
  tenants(): Iterable<Tenant> {
    return this.#tenants.values();
  }

  /** Tenants in memory, including idle ones. */
  get size(): number {
    return this.#tenants.size;
  }

  #add(name: string): Tenant {
    if (this.#tenants.size >= this.#sizeMax) this.#forgetIdle();
    const tenant = new Tenant(this);
    this.#tenants.set(name, tenant);
    return tenant;
  }

  /**
   * Runs only after as many tenants were added as were kept by the last run, so that the amortized cost stays small.
   */
  #forgetIdle(): void {
    for (const [name, tenant] of this.#tenants) if (tenant.isIdle) this.#tenants.delete(name);
    this.#sizeMax = 2 * this.#tenants.size + limits.idleTenantsKept;
  }
}
