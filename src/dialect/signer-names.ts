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

/** Signer of the API server's own certificates: names its trust bundle, and signs no requests. */
export const servingSigner = (dialect: Dialect): string => `${dialect.domain}/${components(dialect).apiServer}-serving`;

/** Name of the service account, and the end of the role, of the controller that publishes that bundle. */
export const servingBundlePublisher = (dialect: Dialect): string =>
  `${components(dialect).apiServer}-serving-clustertrustbundle-publisher`;
