import { components } from './components.ts';
import type { Dialect } from './dialect.ts';

/** The signers of spec section 2.7, and `legacy-unknown` for older clients. */
export const signerNames = (dialect: Dialect) => {
  const { apiServer, nodeAgent } = components(dialect);
  return {
    client: `${dialect.domain}/${apiServer}-client`,
    nodeClient: `${dialect.domain}/${apiServer}-client-${nodeAgent}`,
    nodeServing: `${dialect.domain}/${nodeAgent}-serving`,
    legacyUnknown: `${dialect.domain}/legacy-unknown`,
  } as const;
};
