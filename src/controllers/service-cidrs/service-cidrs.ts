import type { Closable } from '../../base/disposable.ts';
import { TimeSlice } from '../../base/time/time-slice.ts';
import { hasReason } from '../../client/api-client.ts';
import { Informer } from '../../client/informer.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { WorkQueue } from '../../client/work-queue.ts';
import { ipAddresses, isLookedAfter } from '../../kinds/networking/ip-address.ts';
import { rangeFinalizer, rangesOf, readyOf, serviceCidrs } from '../../kinds/networking/service-cidr.ts';
import { type ApiObject, nameOf } from '../../meta/api-object.ts';
import { familyNumber, type IpRange, parseIpRange } from '../../meta/ip-range.ts';
import type { ResourceName } from '../../meta/status-error.ts';
import { formatTime, parseTime } from '../../meta/time.ts';
import type { ControllerContext } from '../controller.ts';
import { ControllerStack } from '../controller-stack.ts';

/**
 * Calls ServiceCIDRs ready, and lets those that are being deleted go when no service would be left with an address outside of
 * all others (KEP-1880).
 */
export const startServiceCidrs = (context: ControllerContext): Closable => new ServiceCidrs(context);

const parallel = 5;

/** How long a ServiceCIDR stays at least after its deletion: servers may not have heard of it. Published. */
const graceMs = 10_000;

interface Range {
  readonly uid: string;
  readonly blocks: readonly IpRange[];
  readonly hasFinalizer: boolean;
  /** Undefined while it is not being deleted. */
  readonly deletedAt: number | undefined;
  /** What its condition says; undefined without one. */
  readonly ready: { readonly status: string; readonly reason: string } | undefined;
}

type Address = NonNullable<ReturnType<typeof familyNumber>>;

class ServiceCidrs implements Closable {
  readonly #context: ControllerContext;
  readonly #finalizer: string;
  readonly #held = new ControllerStack();
  readonly #queue: WorkQueue<string>;
  readonly #ranges: Informer<Range>;
  /** Undefined for those that the servers do not look after. */
  readonly #addresses: Informer<Address | 'another'>;

  constructor(context: ControllerContext) {
    const { dialect, reader } = context;
    this.#context = context;
    this.#finalizer = rangeFinalizer(dialect);
    this.#queue = this.#held.add(
      // The published name.
      new WorkQueue({ ...context, name: 'ipaddresses', parallel, work: (key) => this.#work(key) }),
    );
    this.#ranges = this.#held.add(
      new Informer({
        ...context,
        client: reader,
        path: this.#path(serviceCidrs(dialect)),
        select: (object) => this.#read(object),
        changed: (key, now) => {
          if (now) this.#queue.add(key);
          // Others may go with it, or have to wait for what it covered.
          this.#lookAtDeleted();
        },
        synced: () => this.#lookAtDeleted(),
      }),
    );
    this.#addresses = this.#held.add(
      new Informer({
        ...context,
        client: reader,
        path: this.#path(ipAddresses(dialect)),
        select: (object) => (isLookedAfter(dialect, object) && familyNumber(nameOf(object))) || 'another',
        changed: (_key, now) => {
          if (!now) this.#lookAtDeleted();
        },
        synced: () => this.#lookAtDeleted(),
      }),
    );
  }

  #path({ group, resource }: ResourceName, name?: string, subresource?: string): string {
    const place = { apiVersion: `${group}/v1beta1`, resource, name };
    return resourcePath(subresource === undefined ? place : { ...place, subresource });
  }

  #read(object: ApiObject): Range {
    const { uid = '', finalizers = [], deletionTimestamp } = object.metadata;
    const { status = '', reason = '' } = readyOf(object) ?? {};
    return {
      uid,
      blocks: rangesOf(object).flatMap((text) => parseIpRange(text) ?? []),
      hasFinalizer: finalizers.includes(this.#finalizer),
      deletedAt: deletionTimestamp === undefined ? undefined : (parseTime(deletionTimestamp) ?? 0),
      ready: status === '' ? undefined : { status, reason },
    };
  }

  #lookAtDeleted(): void {
    for (const [key, { deletedAt, hasFinalizer }] of this.#ranges.entries()) {
      if (deletedAt !== undefined && hasFinalizer) this.#queue.add(key);
    }
  }

  async #work(key: string): Promise<void> {
    const range = this.#ranges.get(key);
    if (!range) return;
    try {
      if (range.deletedAt === undefined) await this.#keep(key, range);
      else if (range.hasFinalizer) await this.#release(key, range, range.deletedAt);
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
    }
  }

  async #keep(key: string, range: Range): Promise<void> {
    if (!range.hasFinalizer) await this.#patch(key, range, { metadata: { finalizers: [this.#finalizer] } });
    if (range.ready?.status === 'True') return;
    await this.#say(key, range, {
      status: 'True',
      reason: '',
      message: `${this.#context.dialect.title} Service CIDR is ready`,
    });
  }

  async #release(key: string, range: Range, deletedAt: number): Promise<void> {
    // What is not known yet may be in use, and what covers it may not.
    if (!this.#addresses.synced) return;
    if (await this.#isNeeded(key, range)) {
      const terminating = { status: 'False', reason: 'Terminating' };
      if (range.ready?.status === terminating.status && range.ready.reason === terminating.reason) return;
      const message =
        'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR';
      return this.#say(key, range, { ...terminating, message });
    }
    const leftMs = deletedAt + graceMs - this.#context.clock.now();
    if (leftMs > 0) return this.#queue.addAfter(key, leftMs);
    await this.#patch(key, range, { metadata: { '$deleteFromPrimitiveList/finalizers': [this.#finalizer] } });
  }

  /** Whether there is an address that no other ServiceCIDR has which stays. */
  async #isNeeded(key: string, { blocks }: Range): Promise<boolean> {
    const others = [...this.#ranges.entries()]
      .filter(([other, { deletedAt }]) => other !== key && deletedAt === undefined)
      .flatMap(([, range]) => range.blocks);
    const alone = blocks.filter((block) => !others.some((other) => covers(other, block)));
    if (alone.length === 0) return false;
    const slice = new TimeSlice(this.#context.clock);
    for (const [, address] of this.#addresses.entries()) {
      if (slice.over) await slice.next();
      if (address === 'another' || !alone.some((block) => contains(block, address))) continue;
      if (!others.some((other) => contains(other, address))) return true;
    }
    return false;
  }

  #say(
    key: string,
    range: Range,
    condition: { readonly status: string; readonly reason: string; readonly message: string },
  ): Promise<void> {
    const ready = { type: 'Ready', ...condition, lastTransitionTime: formatTime(this.#context.clock.now()) };
    return this.#patch(key, range, { metadata: {}, status: { conditions: [ready] } }, 'status');
  }

  async #patch(
    key: string,
    { uid }: Range,
    patch: { readonly metadata: object; readonly status?: object },
    subresource?: string,
  ): Promise<void> {
    const { client, dialect } = this.#context;
    const path = this.#path(serviceCidrs(dialect), key.slice(1), subresource);
    await client.strategicPatch(path, { ...patch, metadata: { ...patch.metadata, uid } }, this.#held.signal);
  }

  close(): void {
    this.#held.close();
  }
}

const contains = ({ family, first, size }: IpRange, address: Address): boolean =>
  family === address.family && address.number >= first && address.number < first + size;

const covers = (outer: IpRange, { family, first, length }: IpRange): boolean =>
  outer.length <= length && contains(outer, { family, number: first });
