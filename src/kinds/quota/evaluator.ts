import type { ApiObject } from '../../meta/api-object.ts';
import { qualifiedResource, type ResourceName } from '../../meta/status-error.ts';
import type { AdmissionOperation } from '../../request/admission.ts';
import { type Amounts, objects } from './amounts.ts';

/** All that quotas know of an object. Plain data: it is sent between threads, and kept in the place of the object. */
export interface Measured {
  readonly usage: Amounts;
  /** What it uses from some time on, in milliseconds. */
  readonly later?: { readonly fromMs: number; readonly usage: Amounts };
  /** Absent: it is of a kind that is in no scope. */
  readonly scopes?: ScopesOfObject;
}

interface ScopesOfObject {
  /** Scopes that hold or do not. */
  readonly plain: ReadonlySet<string>;
  /** Values of the others, where the object has one. */
  readonly values: Readonly<Record<string, string>>;
  /** The names of those others. */
  readonly valued: readonly string[];
}

/** Knows how to measure the objects of one resource. */
export interface Evaluator {
  readonly resource: ResourceName;
  /** Whether a write of an object, or to a subresource of it, may change what it uses. */
  readonly handles: (operation: AdmissionOperation, subresource: string) => boolean;
  /** Whether the amounts of this name that a quota has are counted in these objects. */
  readonly counts: (name: string) => boolean;
  /** `metadata`: the rest of an object does not matter. */
  readonly reads: 'metadata' | 'object';
  readonly measure: (object: ApiObject) => Measured;
  /** What an object may not leave open where a quota counts it, with the containers that do. Default: nothing. */
  readonly unspecified?: (object: ApiObject) => Unspecified;
}

/** Names of containers by name of the resource. */
export type Unspecified = ReadonlyMap<string, readonly string[]>;

/** The name under which quotas count the objects of a resource: `count/deployments.apps`. */
export const objectCountOf = (resource: ResourceName): string => `count/${qualifiedResource(resource)}`;

/** Counts objects, whatever they are; `alias` is a name that quotas had for it before. */
export function objectCounter(resource: ResourceName, alias?: string): Evaluator {
  const names = [objectCountOf(resource), ...(alias === undefined ? [] : [alias])];
  const measured: Measured = { usage: new Map(names.map((name) => [name, objects(1)])) };
  return {
    resource,
    handles: (operation, subresource) => operation === 'create' && subresource === '',
    counts: (name) => names.includes(name),
    reads: 'metadata',
    measure: () => measured,
  };
}

/** What an object uses at a time, in milliseconds. */
export const usageAt = ({ usage, later }: Measured, nowMs: number): Amounts => (later && nowMs >= later.fromMs ? later.usage : usage);

/** What is written as a whole can change what it uses whenever it is written. */
export const handlesWrites: Evaluator['handles'] = (operation, subresource) => (operation === 'create' || operation === 'update') && subresource === '';
