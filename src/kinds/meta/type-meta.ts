import { opt, string } from '../../schema/schema.ts';

/** The fields that say what an object is. Number 0: in protobuf they stand in the envelope, not in the message. */
export const typeMeta = {
  apiVersion: opt(0, string(), 'Group and version of the schema that this object follows, such as `v1`.'),
  kind: opt(0, string(), 'Name of the schema that this object follows, in CamelCase.'),
} as const;
