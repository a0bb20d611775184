import { abacAuthorizer } from '../../../authz/abac/abac-authorizer.ts';
import { authorizationMetrics } from '../../../authz/authorization-metrics.ts';
import type { Authorizer } from '../../../authz/authorizer.ts';
import { type AuthorizerChain, buildAuthorizers, type ChainParts } from '../../../authz/authorizer-chain.ts';
import type { AuthorizerSpec, AuthorizerType } from '../../../authz/configuration/authorizer-spec.ts';
import { graphSources } from '../../../authz/node/graph-sources.ts';
import { NodeAuthorizer } from '../../../authz/node/node-authorizer.ts';
import { NodeGraph } from '../../../authz/node/node-graph.ts';
import type { RbacIndex } from '../../../authz/rbac/rbac-index.ts';
import { ReloadableAuthorizer } from '../../../authz/reloadable-authorizer.ts';
import type { RuleResolver } from '../../../authz/rule-resolver.ts';
import { reviewPath } from '../../../authz/webhook/review.ts';
import type { ClosableStack } from '../../../base/disposable.ts';
import type { Files } from '../../../base/files.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Metrics } from '../../../base/metrics.ts';
import type { Random } from '../../../base/random.ts';
import type { Clock } from '../../../base/time/clock.ts';
import { type FileContent, WatchedFile } from '../../../base/watched-file.ts';
import type { CacheEntry } from '../../../cache/cache.ts';
import { loadCel } from '../../../cel/cel.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { groupAccounts } from '../../../request/service-account-user.ts';
import { groupAuthenticated, groupUnauthenticated, type UserInfo } from '../../../request/user-info.ts';
import { startSlicedInformer } from '../../../resources/object-informer.ts';
import type { ResourceRegistry } from '../../../resources/resource-registry.ts';
import type { AuthorizationConfig } from '../config.ts';
import type { OutsideWorld } from '../environment.ts';
import { openRbac } from './rbac.ts';
import { openWebhook } from './webhooks.ts';

interface AuthorizationParts {
  readonly environment: OutsideWorld;
  readonly config: AuthorizationConfig;
  readonly dialect: Dialect;
  readonly resources: ResourceRegistry;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly files: Files;
  /** Receives everything that is opened; closed with the server. */
  readonly held: ClosableStack;
}

export interface Authorization {
  readonly authorizer: Authorizer;
  readonly rules: RuleResolver;
  /** Also built if RBAC mode is off: escalation is checked on every write of a role. */
  readonly index: RbacIndex;
  /** Resolves when roles and bindings are effective as the cache has them. */
  readonly caughtUp: () => Promise<void>;
  /** The authorizer types of the initial chain. */
  readonly types: ReadonlySet<AuthorizerType>;
  /** False for users known to have no role other than those that everybody has. */
  readonly hasRole: (user: UserInfo) => boolean;
}

/**
 * Authorization (spec section 5.7). Rejects if a webhook's connection file cannot be used or the chain's file is
 * invalid; the message names flag and file.
 */
export async function openAuthorization(parts: AuthorizationParts): Promise<Authorization> {
  const { config, held } = parts;
  const rbac = held.add(openRbac(parts));
  const { index } = rbac;
  /** The types of the first chain: their data is fed from the cache, and later chains cannot add types. */
  const types = new Set<AuthorizerType>();
  let chainParts: ChainParts | undefined;
  const build = (specs: readonly AuthorizerSpec[]): Promise<AuthorizerChain> => {
    if (!chainParts) for (const { type } of specs) types.add(type);
    chainParts ??= chainPartsOf(parts, index, types);
    return buildAuthorizers(specs, chainParts);
  };
  const chain = held.add(
    config.chain.type === 'file'
      ? await named('--authorization-config', openFile(parts, config.chain, build))
      : await named('--authorization-webhook-config-file', build(config.chain.specs)),
  );
  return {
    authorizer: chain,
    rules: chain,
    index,
    types,
    caughtUp: () => rbac.caughtUp(),
    hasRole: rolesAreAll(config) ? (user) => isBound(index, user) : () => true,
  };
}

/**
 * True if everything that is allowed comes from a role, except for nodes. A file may name other authorizers at any
 * time.
 */
const rolesAreAll = ({ chain }: AuthorizationConfig): boolean =>
  chain.type === 'specs' && chain.specs.every(({ type }) => type === 'RBAC' || type === 'Node');

const everybody: ReadonlySet<string> = new Set([groupAuthenticated, groupUnauthenticated, groupAccounts]);

function isBound(index: RbacIndex, { username, groups }: UserInfo): boolean {
  if (index.isUserBound(username)) return true;
  for (const group of groups) if (!everybody.has(group) && index.isGroupBound(group)) return true;
  return false;
}

async function named<T>(what: string, opening: Promise<T>): Promise<T> {
  try {
    return await opening;
  } catch (error) {
    throw new Error(`${what}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

/**
 * Requests of nodes wait until the graph is built: there are many pods, and kubelets connect after the start. Other
 * requests do not wait.
 */
function openNodeAuthorizer({ dialect, resources, clock, logger, held }: AuthorizationParts): NodeAuthorizer {
  const graph = new NodeGraph(dialect);
  const synced: Promise<void>[] = [];
  for (const { group, resource, requiredField } of graphSources(dialect)) {
    const stored = resources.finder(group, 'v1', resource);
    const find = () => stored() ?? [...resources.table.ofGroup(group)].find(({ name }) => name.resource === resource);
    const put = (object: ApiObject): void => graph.put(resource, object);
    const remove = (namespace: string, name: string): void => graph.remove(resource, namespace, name);
    const skips = (entry: CacheEntry): boolean => requiredField !== undefined && entry.field(requiredField) === '';
    const informer = held.add(startSlicedInformer({ resources, find }, { put, remove, skips }, { clock, logger }));
    synced.push(informer.synced);
  }
  return new NodeAuthorizer(graph, dialect, Promise.all(synced));
}

function chainPartsOf(parts: AuthorizationParts, index: RbacIndex, types: ReadonlySet<AuthorizerType>): ChainParts {
  const { config, dialect, clock, random, logger, metrics } = parts;
  return {
    rbac: types.has('RBAC') ? index : undefined,
    node: types.has('Node') ? openNodeAuthorizer(parts) : undefined,
    abac: config.policies && abacAuthorizer(config.policies),
    webhookSender: (connection, { timeoutMs, version }) =>
      openWebhook(
        connection.type === 'file' ? connection : { ...connection, path: reviewPath(dialect, version) },
        timeoutMs,
        parts,
      ),
    dialect,
    clock,
    random,
    logger,
    metrics: authorizationMetrics(metrics),
  };
}

/** The chain of a configuration file, which is reloaded when it changes. */
async function openFile(
  { dialect, clock, files, logger, metrics, held, environment }: AuthorizationParts,
  { path, content }: FileContent,
  build: (specs: readonly AuthorizerSpec[]) => Promise<AuthorizerChain>,
): Promise<ReloadableAuthorizer> {
  const authorizer = await ReloadableAuthorizer.open(
    { file: path, dialect, files, loadCel, build, clock, logger, metrics, serverId: environment.hostname },
    content,
  );
  held.add(
    new WatchedFile(
      {
        path,
        clock,
        files,
        apply: (changed) => void authorizer.reload(changed),
        failed: (error) => authorizer.failed(error),
      },
      content,
    ),
  );
  return authorizer;
}
