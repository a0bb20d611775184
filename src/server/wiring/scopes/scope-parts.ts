import type { ResourceRegistry } from '../../../resources/resource-registry.ts';
import type { UnservedDefinitions } from '../../definitions/unserved-definitions.ts';
import type { LoopbackClients } from '../loopback-clients.ts';
import type { SharedParts } from './shared-parts.ts';

/**
 * The dependencies of the parts of one scope. `held` closes with the scope; `metrics` is the scope's part of all
 * metrics.
 */
export interface ScopeParts extends SharedParts {
  readonly resources: ResourceRegistry;
  readonly clients: LoopbackClients;
  /** Definitions of custom resources that have changed, and are not served yet as they say. */
  readonly unserved: UnservedDefinitions;
}
