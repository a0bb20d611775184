import type { Dialect } from '../../dialect/dialect.ts';
import { bootstrapTokenType } from '../../kinds/core/bootstrap-token.ts';

const inNamespace = (namespace: string): string => `/api/v1/namespaces/${encodeURIComponent(namespace)}`;

/** The Secrets of bootstrap tokens. */
export const bootstrapTokensPath = (dialect: Dialect): string =>
  `${inNamespace(dialect.namespaces.system)}/secrets?fieldSelector=${encodeURIComponent(`type=${bootstrapTokenType(dialect)}`)}`;

export const systemSecretPath = ({ namespaces }: Dialect, name: string): string =>
  `${inNamespace(namespaces.system)}/secrets/${encodeURIComponent(name)}`;

/** A ConfigMap of the public namespace; without a name, all of them. */
export const publicConfigMapPath = ({ namespaces }: Dialect, name?: string): string => {
  const collection = `${inNamespace(namespaces.public)}/configmaps`;
  return name === undefined ? collection : `${collection}/${encodeURIComponent(name)}`;
};
