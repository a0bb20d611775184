import { components } from './components.ts';
import type { Dialect } from './dialect.ts';

/** ConfigMaps of the system namespace that servers keep and other components read, by what they tell. */
export const systemConfigMapNames = (dialect: Dialect) => ({
  authentication: 'extension-apiserver-authentication',
  legacyTokens: `${components(dialect).apiServer}-legacy-service-account-token-tracking`,
  removedKinds: `${components(dialect).apiServer}-removed-kinds`,
});
