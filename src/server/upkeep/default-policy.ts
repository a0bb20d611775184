import { defaultPolicy } from '../../authz/rbac/bootstrap-policy/default-policy.ts';
import { joinPolicy } from '../../authz/rbac/bootstrap-policy/join-policy.ts';
import { autoupdateAnnotation } from '../../authz/rbac/bootstrap-policy/policy-objects.ts';
import { serviceCidrPolicy } from '../../authz/rbac/bootstrap-policy/service-cidr-policy.ts';
import { simulatedNodesPolicy } from '../../authz/rbac/bootstrap-policy/simulated-nodes-policy.ts';
import { trustBundlePolicy, trustBundles } from '../../authz/rbac/bootstrap-policy/trust-bundle-policy.ts';
import { reconcile } from '../../authz/rbac/reconcile.ts';
import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/logger.ts';
import type { Clock } from '../../base/time/clock.ts';
import { type ApiClient, hasReason } from '../../client/api-client.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { parseStored } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { ResourceName } from '../../meta/status-error.ts';
import type { ServedResource } from '../../resources/resource.ts';
import { decode } from '../../schema/decode.ts';
import type { CreateInitial } from './bootstrap.ts';

interface PolicyParts {
  readonly dialect: Dialect;
  readonly logger: Logger;
  /** Also the roles and bindings by which nodes join. Default: false. */
  readonly joinPolicy?: boolean | undefined;
  /** Also the role of the controller that simulates nodes. */
  readonly simulatesNodes?: boolean | undefined;
  /** Also the role of the controller of ServiceCIDRs. */
  readonly usesServiceCidrs?: boolean | undefined;
  /** Whether a resource is served, in any version: some roles are made only with what they are for. */
  readonly serves: (resource: ResourceName) => boolean;
  readonly client: Pick<ApiClient, 'create' | 'update' | 'delete'>;
  /** Absent if requests have to be seen. */
  readonly createInitial?: CreateInitial | undefined;
  /** Resolves when the cache is up to date with the store. */
  readonly fresh: () => Promise<unknown>;
  /** Whether webhooks or policies judge writes: they may refuse an object for which the start does not wait. */
  readonly isJudged: () => boolean;
  /** Finds the served resource of an object's kind. Objects of kinds that are not served stay as they are. */
  readonly servedAs: (object: ApiObject) => ServedResource | undefined;
  /** What kinds want to exist after every start (`Kind.initialObjects`). */
  readonly initialObjects: readonly ApiObject[];
}

/**
 * Reconciles the default roles and bindings (spec section 5.8) at every start, except those whose owner opted out, and
 * creates missing initial objects of other kinds. All at once, so that the store commits them together.
 *
 * An object that cannot be reconciled, because the stored one is corrupt or cannot be deleted, is logged and skipped:
 * only a running server lets an administrator repair it (kube-apiserver exits). Store failures reject. Returns what webhooks
 * or policies refused, or could not be asked about: it is to be tried again.
 */
export async function ensureDefaultPolicy(parts: PolicyParts): Promise<readonly ApiObject[]> {
  const { dialect } = parts;
  const policy = [
    ...defaultPolicy(dialect),
    ...(parts.joinPolicy ? joinPolicy(dialect) : []),
    ...(parts.simulatesNodes ? simulatedNodesPolicy(dialect) : []),
    ...(parts.usesServiceCidrs ? serviceCidrPolicy(dialect) : []),
    ...(parts.serves(trustBundles(dialect)) ? trustBundlePolicy(dialect) : []),
    ...parts.initialObjects,
  ];
  return ensureAll(parts, policy);
}

async function ensureAll(parts: PolicyParts, policy: readonly ApiObject[]): Promise<readonly ApiObject[]> {
  const ends = await Promise.all(policy.map((expected) => ensure(parts, expected)));
  return policy.filter((_, index) => ends[index] === 'refused');
}

/** Tries again what was refused, until it is there or the result is closed. */
export function retryDefaultPolicy(parts: PolicyParts, refused: readonly ApiObject[], clock: Clock): Closable {
  let closed = false;
  let timer: Closable | undefined;
  const later = (left: readonly ApiObject[]): void => {
    if (closed || left.length === 0) return;
    timer = clock.after(limits.defaultPolicyRetryMs, () => {
      void ensureAll(parts, left).then(later, () => later(left));
    });
  };
  later(refused);
  return {
    close() {
      closed = true;
      timer?.close();
    },
  };
}

/**
 * Makes those of the objects again that are deleted (`Kind.keptObjects`), until the result is closed. Each is looked for in the
 * cache; nothing is asked of the store while they are there.
 */
export function keepObjects(parts: PolicyParts, kept: readonly ApiObject[], clock: Clock): Closable {
  let closed = false;
  let timer: Closable | undefined;
  const later = (): void => {
    if (closed) return;
    timer = clock.after(limits.keptObjectsLookMs, () => {
      const missing = kept.filter((object) => isMissing(parts, object));
      if (missing.length === 0) return later();
      void ensureAll(parts, missing).then(later, (error: unknown) => {
        parts.logger.warn('objects that must be there could not be made again', { error });
        later();
      });
    });
  };
  if (kept.length > 0) later();
  return {
    close() {
      closed = true;
      timer?.close();
    },
  };
}

function isMissing({ servedAs }: PolicyParts, object: ApiObject): boolean {
  const { namespace = '', name = '' } = object.metadata;
  const served = servedAs(object);
  return served !== undefined && served.collection.get(served.objectKey(namespace, name)) === undefined;
}

/** Attempts per object after lost races. */
const attemptsMax = 5;

async function ensure(parts: PolicyParts, expected: ApiObject): Promise<'done' | 'refused'> {
  for (let attempt = 1; ; attempt++) {
    try {
      await write(parts, expected);
      return 'done';
    } catch (error) {
      // Another server on the same store is starting too, somebody changed the object meanwhile, or the write's outcome
      // is unknown. The stored object is read before the next attempt.
      const unknown = hasReason(error, 'Timeout');
      const lost = hasReason(error, 'Conflict', 'AlreadyExists', 'NotFound');
      const final = attempt === attemptsMax;
      if (!lost && !unknown && parts.isJudged()) {
        report(parts, expected, error);
        return 'refused';
      }
      if (!lost && (!unknown || final)) throw error;
      if (final) {
        report(parts, expected, error);
        return 'done';
      }
      await parts.fresh();
    }
  }
}

function report({ logger }: PolicyParts, { kind, metadata }: ApiObject, error: unknown): void {
  const { namespace, name } = metadata;
  const problem = error instanceof Error ? error.message : String(error);
  logger.error('a default object could not be reconciled', {
    kind,
    ...(namespace && { namespace }),
    name,
    problem,
  });
}

async function write(parts: PolicyParts, expected: ApiObject): Promise<void> {
  const { dialect, client, servedAs } = parts;
  const served = servedAs(expected);
  if (!served) return;
  const { namespace = '', name = '' } = expected.metadata;
  const entry = served.collection.get(served.objectKey(namespace, name));
  const existing = entry && (parseStored(entry.bytes) as ApiObject);
  const [error] = existing ? decode(served.kind.schema, existing).errors : [];
  if (error) return report(parts, expected, `the stored object is invalid: ${error.path}: expected ${error.expected}`);
  if (existing && served.kind.initialObjects) return;
  const step = reconcile(expected, existing, autoupdateAnnotation(dialect));
  const location = { apiVersion: served.apiVersion, resource: served.kind.resource, namespace };
  const [collection, path] = [resourcePath(location), resourcePath({ ...location, name })];
  switch (step.type) {
    case 'keep':
      return;
    case 'create':
      if (await parts.createInitial?.(served, step.object)) return;
      await client.create(collection, step.object);
      return;
    case 'update':
      await client.update(path, step.object);
      return;
    case 'recreate':
      await client.delete(path, { preconditions: { uid: step.uid } });
      await client.create(collection, step.object);
  }
}
