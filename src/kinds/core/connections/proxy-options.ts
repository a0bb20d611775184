import type { StructSchema } from '../../../schema/schema.ts';
import { opt, string, struct } from '../../../schema/schema.ts';
import type { ConnectSubresource, GroupVersionKind } from '../../kind.ts';
import { typeMeta } from '../../meta/type-meta.ts';

/** Options of `proxy`. Their only field is the path below it. */
export const proxyOptions = (kind: string): GroupVersionKind & { readonly schema: StructSchema } => ({
  ...{ group: '', version: 'v1', kind },
  schema: struct(`api.core.v1.${kind}`, 'What is asked of the server behind.', {
    ...typeMeta,
    path: opt(1, string(), 'The path of the request to the server behind.'),
  }),
});

/** What all proxies have in common. */
export const proxySubresource = {
  type: 'connect',
  name: 'proxy',
  verbs: ['get', 'create', 'update', 'patch', 'delete'],
  carries: 'proxy',
} as const satisfies Partial<ConnectSubresource>;
