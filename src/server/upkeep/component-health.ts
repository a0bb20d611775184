import type { Clock } from '../../base/time/clock.ts';
import { parseStored } from '../../codec/json.ts';
import { components } from '../../dialect/components.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ComponentHealth } from '../../kinds/services.ts';
import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import { isRecord } from '../../schema/own-property.ts';

interface ComponentHealthParts {
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly resources: ResourceRegistry;
  /** Of each store, why it cannot be used; undefined if it can. */
  readonly storeProblems: readonly (() => string | undefined | Promise<string | undefined>)[];
  /** Controllers run in this process, without a lease. */
  readonly runsControllers: boolean;
}

/**
 * Health of the control plane's components, under the names that they have had since they had fixed ports. Nothing is
 * called: a component elsewhere is healthy while it renews the lease by which its copies elect a leader.
 */
export const componentHealth = (parts: ComponentHealthParts) => async (): Promise<readonly ComponentHealth[]> => {
  const { dialect, runsControllers } = parts;
  const stores = await Promise.all(parts.storeProblems.map((problem) => problem()));
  return [
    healthOf('controller-manager', runsControllers ? undefined : leaseProblem(parts, dialect.controllerManager)),
    ...stores.map((problem, index) => healthOf(`etcd-${index}`, problem)),
    healthOf('scheduler', leaseProblem(parts, components(dialect).scheduler)),
  ];
};

const healthOf = (name: string, problem: string | undefined): ComponentHealth => ({
  name,
  ...(problem !== undefined && { problem }),
});

/** Why the holder of a lease is not known to live. */
function leaseProblem({ dialect, clock, resources }: ComponentHealthParts, name: string): string | undefined {
  const { system } = dialect.namespaces;
  const none = `nobody holds the lease ${system}/${name}`;
  const leases = resources.finder(dialect.group('coordination'), 'v1', 'leases')();
  const entry = leases?.collection.get(leases.objectKey(system, name));
  const { spec } = entry ? (parseStored(entry.bytes) as { spec?: unknown }) : {};
  if (!isRecord(spec) || !spec['holderIdentity']) return none;
  const seconds = typeof spec['leaseDurationSeconds'] === 'number' ? spec['leaseDurationSeconds'] : 0;
  const until = Date.parse(String(spec['renewTime'])) + seconds * 1000;
  return until >= clock.now() ? undefined : `the lease ${system}/${name} has run out`;
}
