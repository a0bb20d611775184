import { resourcePath } from '../../client/resource-path.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { bootstrapTokenType } from '../../kinds/core/bootstrap-token.ts';

/** The Secrets of bootstrap tokens. */
export const bootstrapTokensPath = (dialect: Dialect): string =>
  resourcePath({
    resource: 'secrets',
    namespace: dialect.namespaces.system,
    fieldSelector: `type=${bootstrapTokenType(dialect)}`,
  });
