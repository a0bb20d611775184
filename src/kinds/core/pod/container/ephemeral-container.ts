import { type Infer, inline, opt, string, struct } from '../../../../schema/schema.ts';
import { container } from './container.ts';

/** The fields shared with other containers, which protobuf has in a message of their own. */
const ephemeralContainerCommon = struct('api.core.v1.EphemeralContainerCommon', 'The fields that an ephemeral container shares with other containers.', container.fields);

export const ephemeralContainer = struct('api.core.v1.EphemeralContainer', 'A container added to a running pod for debugging; it has no guarantees and is never restarted.', {
  ...inline(1, ephemeralContainerCommon),
  targetContainerName: opt(2, string(), 'Container whose processes this one joins.'),
});

export type EphemeralContainer = Infer<typeof ephemeralContainer>;
