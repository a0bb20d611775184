import type { ResourceRegistry } from '../../resources/resource-registry.ts';
import type { OwnClients } from './own-clients.ts';
import type { SharedParts } from './shared-parts.ts';

/** What the parts of one scope are made of. `held` is closed with the scope, and `metrics` are those of all, for this part. */
export interface ScopeParts extends SharedParts {
  readonly resources: ResourceRegistry;
  readonly clients: OwnClients;
}
