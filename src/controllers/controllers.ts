import { type Closable, ClosableStack } from '../base/disposable.ts';
import type { ApiClient } from '../client/api-client.ts';
import { startClusterRoleAggregation } from './cluster-role-aggregation/cluster-role-aggregation.ts';
import type { ControllerContext } from './controller.ts';
import { startGarbageCollector } from './garbage-collector/garbage-collector.ts';
import { startRootCaPublisher } from './namespace-content/root-ca-publisher.ts';
import { startServiceAccountController } from './namespace-content/service-account.ts';
import { startNamespaceLifecycle } from './namespace-lifecycle/namespace-lifecycle.ts';
import { startServiceAccountTokens } from './service-account-tokens/service-account-tokens.ts';

/** One controller by its published name. */
interface ControllerEntry {
  /** Names by which it was known before; flags take them too. */
  readonly aliases: readonly string[];
  readonly help: string;
  /** The published name of its service account in the system namespace; absent: it works as the program does. */
  readonly account?: string;
  readonly start: (context: ControllerContext) => Closable;
}

const entries = {
  'garbage-collector-controller': {
    aliases: ['garbagecollector', 'garbage-collector'],
    help: 'deletes objects whose owners are gone',
    account: 'generic-garbage-collector',
    start: startGarbageCollector,
  },
  'namespace-controller': {
    aliases: ['namespace'],
    help: 'empties namespaces that are being deleted',
    account: 'namespace-controller',
    start: startNamespaceLifecycle,
  },
  'serviceaccount-controller': {
    aliases: ['serviceaccount'],
    help: 'makes the default service account of every namespace',
    account: 'service-account-controller',
    start: startServiceAccountController,
  },
  'serviceaccount-token-controller': {
    aliases: ['serviceaccount-token'],
    help: 'fills the secrets that ask for a token of a service account',
    start: startServiceAccountTokens,
  },
  'root-ca-certificate-publisher-controller': {
    aliases: ['root-ca-cert-publisher'],
    help: 'gives every namespace a config map with the authority of the API server',
    account: 'root-ca-cert-publisher',
    start: startRootCaPublisher,
  },
  'clusterrole-aggregation-controller': {
    aliases: ['clusterrole-aggregation'],
    help: 'gives cluster roles that aggregate others the rules of those',
    account: 'clusterrole-aggregation-controller',
    start: startClusterRoleAggregation,
  },
} as const satisfies Readonly<Record<string, ControllerEntry>>;

export type ControllerName = keyof typeof entries;

export const controllerNames = Object.keys(entries) as ControllerName[];

/** What a controller does, in a few words. */
export const describeController = (name: ControllerName): string => entries[name].help;

/**
 * Which controllers a list chooses: `name`, `-name`, and `*` for all that are not named. What stands first counts.
 * Throws an Error that says which item names none.
 */
export function chooseControllers(items: readonly string[]): readonly ControllerName[] {
  const chosen = new Map<ControllerName, boolean>();
  for (const item of items) {
    if (item === '*') continue;
    const name = nameOf(item.replace(/^-/, ''));
    if (!name) throw new Error(`${JSON.stringify(item)} is no controller; there are ${controllerNames.join(', ')}`);
    if (!chosen.has(name)) chosen.set(name, !item.startsWith('-'));
  }
  return controllerNames.filter((name) => chosen.get(name) ?? items.includes('*'));
}

const nameOf = (text: string): ControllerName | undefined =>
  controllerNames.find((name) => {
    const aliases: readonly string[] = entries[name].aliases;
    return name === text || aliases.includes(text);
  });

/** What controllers are started with. */
export interface ControllersContext extends Omit<ControllerContext, 'reader'> {
  /** Speaks as a service account of the system namespace. Absent: all work as the program does. */
  readonly clientOf?: (account: string) => ApiClient;
}

/** Starts controllers; closing the result ends them, and the requests that they have under way. */
export function startControllers(names: readonly ControllerName[], context: ControllersContext): Closable {
  const { client, clientOf, ...rest } = context;
  const running = new ClosableStack();
  for (const name of names) {
    const { account, start }: ControllerEntry = entries[name];
    const own = account === undefined ? undefined : clientOf?.(account);
    running.add(start({ ...rest, client: own ?? client, reader: client }));
  }
  return running;
}
