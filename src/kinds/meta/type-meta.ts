import { opt, string } from '../../schema/schema.ts';

/** TypeMeta. Number 0: in protobuf the envelope carries these fields, not the message. */
export const typeMeta = {
  apiVersion: opt(0, string(), 'Group and version of the schema that this object follows, such as `v1`.'),
  kind: opt(0, string(), 'Name of the schema that this object follows, in CamelCase.'),
} as const;
