import type { MetricDefinition } from '../base/metrics.ts';
import type { ApiObject } from '../meta/api-object.ts';
import type { ResourceName } from '../meta/status-error.ts';

/**
 * Values of which each belongs to one object of a scope, such as addresses and ports. A kind says which its objects hold
 * (`Kind.claims`) and fills in those that a client leaves to the server (`Strategy.allocate`). The registry writes an object
 * and its claims together, so that none is lost or held twice, whichever server of a store writes.
 */

/** A value that an object holds. */
export interface Claim {
  /** What kind of value it is: values of different folders have nothing to do with each other. */
  readonly folder: string;
  /** In its one canonical form. */
  readonly value: string;
  /** The object that shows it. Absent: none does. */
  readonly shown?: ShownClaim;
}

/**
 * An object by which clients see a claim. It is written and removed with the claim, and whoever makes one of that name holds the
 * value as well. Only while its gate is on.
 */
export interface ShownClaim extends ResourceName {
  /** Name of the feature gate. */
  readonly gate: string;
  readonly version: string;
  /** Without what servers set. Of a kind without namespaces; its name is the value. */
  readonly object: ApiObject;
}

/** Definitions of what is counted of pools. All have the labels of the pool; the counters have `scope` as well. */
export interface PoolMetrics {
  readonly allocations: MetricDefinition<string>;
  readonly failures: MetricDefinition<string>;
  /** Gauges of the values that objects hold, and of the others. */
  readonly held: MetricDefinition<string>;
  readonly free: MetricDefinition<string>;
}

/** A range of values, of which the first ones are chosen last, so that clients can ask for one of them (KEP-3070, KEP-3668). */
export interface ValuePool {
  readonly name: string;
  readonly folder: string;
  readonly size: number;
  /** Nothing is given from it, though objects may hold some of its values. */
  readonly closed?: boolean;
  /** The resource of objects that show claims of its values. Absent: they are not shown. */
  readonly shownBy?: ResourceName;
  /** How many values at the start are chosen last. */
  readonly reserved: number;
  /** The value at an index below `size`. */
  valueAt(index: number): string;
  /** The canonical form of a given value, if it belongs to the pool. */
  canonical(value: string): string | undefined;
  /** The text for a value that does not belong to the pool. */
  outside(value: string): string;
  /** The text for a value that another object holds. */
  readonly taken: string;
  readonly metrics: PoolMetrics;
  readonly labels: Readonly<Record<string, string>>;
  /** How events tell that what an object says of its values is not so: the start of their reason, the value, the range. */
  readonly told: { readonly reason: string; readonly value: (value: string) => string; readonly range: string };
}

/** Whether a claim holds a value of the pool. */
export const isInPool = ({ folder, canonical }: ValuePool, claim: Claim): boolean =>
  folder === claim.folder && canonical(claim.value) !== undefined;

/** The text for a pool without a free value. */
export const poolIsFull = 'range is full';

export type Allocated = { readonly value: string } | { readonly problem: string };

/** The pools of a scope as one write sees them: what it was given once is taken for it. Several may have one name. */
export interface Pools {
  /** Names of the pools, in the order of the configuration. */
  readonly names: readonly string[];
  /** A free value of the pools of a name. */
  choose(name: string): Promise<Allocated>;
  /** A value that the client asks for. */
  take(name: string, value: string): Promise<Allocated>;
}

/** An allocation failed in a way that is no fault of a field, as kube-apiserver tells it. */
export class AllocationFailure extends Error {}

/** A pool chooses the first values of a range last: as many as a part of it, within bounds. */
export const reservedOf = (size: number, { part, max }: { readonly part: number; readonly max: number }): number =>
  size <= reservedMin ? 0 : Math.min(Math.max(reservedMin, Math.floor(size / part)), max);

const reservedMin = 16;
