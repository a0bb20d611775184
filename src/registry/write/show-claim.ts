import { encodeObject } from '../../codec/json.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { RegistryParts } from '../verb.ts';
import type { ShowClaim } from './claims.ts';
import { completeObject } from './complete-object.ts';

/**
 * Makes the objects by which clients see claims, as requests of the server would, but without requests of their own: each is
 * written in the batch of the object that holds the value. Nothing where the gate is off or the kind is not served.
 */
export const showClaim =
  (parts: Pick<RegistryParts, 'resources' | 'features' | 'dialect' | 'clock' | 'random'>, user: UserInfo): ShowClaim =>
  ({ gate, group, version, resource, object }) => {
    const served = parts.features.has(gate) ? parts.resources.find(group, version, resource) : undefined;
    if (!served) return undefined;
    const made = { served, object, user, manager: parts.dialect.apiServer };
    return {
      key: served.objectKey('', object.metadata.name ?? ''),
      encoded: () => encodeObject(completeObject(parts, made)),
    };
  };
