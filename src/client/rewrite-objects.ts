import { compareKeys } from '../base/collections/key-order.ts';
import type { Random } from '../base/random.ts';
import { Backoff } from '../base/time/backoff.ts';
import { type Clock, pause } from '../base/time/clock.ts';
import type { Dialect } from '../dialect/dialect.ts';
import type { ApiObject } from '../meta/api-object.ts';
import { type ApiClient, ApiError, hasReason } from './api-client.ts';
import { type DiscoveredResource, pathOf } from './discovery-client.ts';
import { listPages } from './list-pages.ts';
import { resourcePath } from './resource-path.ts';

interface RewriteOptions {
  readonly client: ApiClient;
  readonly resource: DiscoveredResource;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** `namespace/name`, or a name: objects up to this one, in the order of lists, are passed over. */
  readonly after?: string | undefined;
  /** Called as it goes on. */
  readonly progress?: (so: Rewritten) => void;
}

/** What became of the objects of a collection. */
export interface Rewritten {
  readonly seen: number;
  /** Those that got another resourceVersion: their stored form was outdated, or somebody else changed them. */
  readonly written: number;
  /** The last object, as `after`. */
  readonly last: string;
  /** Objects that the server refuses to write, with its reason; the first of them. */
  readonly refused: readonly string[];
  /**
   * Namespaces whose objects the server fails to list, as it does where one of them cannot be read, with its reason; the first
   * of them. For a resource without namespaces the reason alone.
   */
  readonly unlisted: readonly string[];
}

interface Counted extends Rewritten {
  seen: number;
  written: number;
  last: string;
  readonly refused: string[];
  readonly unlisted: string[];
}

/** A collection of which not all could be written. */
export class RewriteStopped extends Error {
  readonly so: Rewritten;

  constructor(so: Rewritten, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = 'RewriteStopped';
    this.so = so;
  }
}

const forms = ['PartialObjectMetadataList', 'PartialObjectMetadata'];
const atOnce = 8;
const attemptsMax = 8;
const shownMax = 10;
const pauses = { firstMs: 100, maxMs: 10_000 };

/**
 * Has the server write every object of a collection as it is, by a patch that changes nothing: it stores anew those whose
 * stored form is outdated, and no others. Nobody's changes can be lost, and nothing is lost when it stops halfway. Goes past
 * namespaces that cannot be listed. Rejects with RewriteStopped where the server refuses lists for another reason, or does
 * not recover in time.
 */
export async function rewriteObjects(options: RewriteOptions): Promise<Rewritten> {
  const { resource, dialect, signal, after = '' } = options;
  const group = `g=${dialect.group('meta')};v=v1`;
  const client = options.client.accepting(forms.map((form) => `application/json;as=${form};${group}`));
  const counted: Counted = { seen: 0, written: 0, last: after, refused: [], unlisted: [] };
  const context = { ...options, client };
  try {
    const failure = await rewriteListed(context, '', counted);
    if (failure && !resource.namespaced) counted.unlisted.push(failure.message);
    if (!failure || !resource.namespaced) return counted;
    for (const namespace of await namespacesOf(context)) {
      const ofOne = await rewriteListed(context, namespace, counted);
      if (ofOne && counted.unlisted.length < shownMax) counted.unlisted.push(`${namespace}: ${ofOne.message}`);
    }
    return counted;
  } catch (error) {
    signal.throwIfAborted();
    throw new RewriteStopped(counted, error);
  }
}

/** Writes the objects of a namespace, or of all; returns the error with which the server fails to list them. */
async function rewriteListed(
  options: RewriteOptions,
  namespace: string,
  counted: Counted,
): Promise<ApiError | undefined> {
  const { client, resource, clock, signal, progress } = options;
  try {
    await patiently(options, async (backoff) => {
      for await (const { items } of listPages({ client, path: pathOf(resource, namespace), clock, signal })) {
        const left = items.filter((item) => counted.last === '' || compareKeys(keyOf(item), counted.last) > 0);
        for (let from = 0; from < left.length; from += atOnce) {
          const some = left.slice(from, from + atOnce);
          const outcomes = await Promise.all(some.map((item) => rewritten(options, item)));
          for (const outcome of outcomes) {
            counted.seen++;
            if (outcome.type === 'written') counted.written++;
            else if (outcome.type === 'refused' && counted.refused.length < shownMax) counted.refused.push(outcome.why);
          }
          counted.last = keyOf(some.at(-1) as ApiObject);
          progress?.({ ...counted });
        }
        if (left.length > 0) backoff.reset();
      }
    });
    return undefined;
  } catch (error) {
    if (error instanceof ApiError && error.code === 500 && !isTransient(error)) return error;
    throw error;
  }
}

/** In the order in which their objects are listed: that of keys, in which a slash follows the namespace. */
async function namespacesOf(options: RewriteOptions): Promise<readonly string[]> {
  const { client, clock, signal } = options;
  const names = await patiently(options, async () => {
    const found: string[] = [];
    const path = resourcePath({ apiVersion: 'v1', resource: 'namespaces' });
    for await (const { items } of listPages({ client, path, clock, signal })) {
      for (const { metadata } of items) found.push(metadata.name ?? '');
    }
    return found;
  });
  return names.sort((one, other) => compareKeys(`${one}/`, `${other}/`));
}

/** Lists again where the server is busy or away, or a list has expired. */
async function patiently<T>(
  { clock, random, signal }: RewriteOptions,
  list: (backoff: Backoff) => Promise<T>,
): Promise<T> {
  const backoff = new Backoff(pauses, random);
  for (;;) {
    try {
      return await list(backoff);
    } catch (error) {
      signal.throwIfAborted();
      const again = isTransient(error) || hasReason(error, 'Expired');
      if (!again || backoff.failures >= attemptsMax) throw error;
      await pause(clock, backoff.next(), signal);
    }
  }
}

type Outcome = { readonly type: 'written' | 'same' | 'gone' } | { readonly type: 'refused'; readonly why: string };

async function rewritten(options: RewriteOptions, { metadata }: ApiObject): Promise<Outcome> {
  const { client, resource, clock, random, signal } = options;
  const { namespace = '', name = '', resourceVersion } = metadata;
  const backoff = new Backoff(pauses, random);
  for (;;) {
    try {
      const after = await client.mergePatchMetadata(pathOf(resource, namespace, name), {}, signal);
      return { type: after.metadata.resourceVersion === resourceVersion ? 'same' : 'written' };
    } catch (error) {
      signal.throwIfAborted();
      if (hasReason(error, 'NotFound')) return { type: 'gone' };
      const again = isTransient(error) || hasReason(error, 'Conflict');
      if (!again && error instanceof ApiError) {
        return { type: 'refused', why: `${namespace === '' ? name : `${namespace}/${name}`}: ${error.message}` };
      }
      if (!again || backoff.failures >= attemptsMax) throw error;
      await pause(clock, backoff.next(), signal);
    }
  }
}

/** An error that says nothing about the object: the server is busy, or away. */
const isTransient = (error: unknown): boolean =>
  !(error instanceof ApiError) ||
  hasReason(error, 'TooManyRequests', 'ServerTimeout', 'ServiceUnavailable', 'Timeout') ||
  error.code === 502;

const keyOf = ({ metadata: { namespace = '', name = '' } }: ApiObject): string =>
  namespace === '' ? name : `${namespace}/${name}`;
