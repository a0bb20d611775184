import { limits } from '../../../base/limits.ts';
import { FairShare, type Holding } from './fair-share.ts';
import type { Lane, Level } from './lane.ts';
import type { Ticket } from './ticket.ts';

/**
 * Who has one share of everything that is short: a user, or all service accounts of a namespace together, since whoever
 * may make one of them may make a thousand. Who acts through impersonation stays the same tenant.
 */
export class Tenant {
  readonly commons: Commons;
  readonly requests: Holding = { held: 0 };
  readonly authorizations: Holding = { held: 0 };
  readonly bodies: Holding = { held: 0 };
  readonly bodyBytes: Holding = { held: 0 };
  readonly unreadBytes: Holding = { held: 0 };
  /** Requests whose answer the client has not taken, in the order of their answers. */
  readonly unread = new Set<Ticket>();
  /** Its places, and its requests that wait for one, by level. */
  readonly lanes = new Map<Level, Lane>();

  constructor(commons: Commons) {
    this.commons = commons;
  }

  /** Nothing is held in its name. A request whose client is gone may hold a place for as long as its work goes on. */
  get isIdle(): boolean {
    if (this.requests.held + this.bodies.held + this.bodyBytes.held + this.unreadBytes.held > 0) return false;
    for (const { inFlight, waiting } of this.lanes.values()) if (inFlight + waiting.size > 0) return false;
    return true;
  }
}

/** What tenants share. Exempt ones have commons of their own: nobody else can use those up. */
export class Commons {
  /** Requests under way, watches excepted: from when it is known who asks until the client has the answer. */
  readonly requests = new FairShare(limits.requestsUnderWayMax);
  /** Requests whose authorizer must wait, as for a webhook. */
  readonly authorizations = new FairShare(limits.authorizationsWaitingMax);
  /** Bodies that are being received. */
  readonly bodies = new FairShare(limits.bodiesReceivedAtOnceMax);
  /** Bytes of bodies, from when they come until their request is answered. */
  readonly bodyBytes = new FairShare(limits.bodyBytesHeldMax);
  /** Bytes of answers that clients have not taken. */
  readonly unreadBytes = new FairShare(limits.unreadBytesMax);
  readonly #tenants = new Map<string, Tenant>();
  #sizeMax: number = limits.idleTenantsKept;

  tenant(name: string): Tenant {
    return this.#tenants.get(name) ?? this.#add(name);
  }

  /** Tenants that are known now, idle ones too. */
  get size(): number {
    return this.#tenants.size;
  }

  #add(name: string): Tenant {
    if (this.#tenants.size >= this.#sizeMax) this.#forgetIdle();
    const tenant = new Tenant(this);
    this.#tenants.set(name, tenant);
    return tenant;
  }

  /** Not more often than as many have come as were kept the last time, so that the cost of looking stays small. */
  #forgetIdle(): void {
    for (const [name, tenant] of this.#tenants) if (tenant.isIdle) this.#tenants.delete(name);
    this.#sizeMax = 2 * this.#tenants.size + limits.idleTenantsKept;
  }
}
