import { type Authentication, openAuthentication } from './authentication.ts';
import { type Authorization, openAuthorization } from './authorization.ts';
import type { Basis } from './basis.ts';
import { type Browsers, forBrowsers } from './browsers.ts';
import type { ApiServerConfig } from './config.ts';
import { identityObjects } from './identity-objects.ts';
import type { OwnClients } from './own-clients.ts';
import type { Storage } from './storage.ts';

/** Who may come in, and what they may do. */
export interface Access {
  readonly authentication: Authentication;
  readonly authorization: Authorization;
  readonly browsers: Browsers;
}

export interface AccessParts extends Basis, Storage {
  readonly clients: OwnClients;
  /** `host:port` of this server. */
  readonly serverAddress: () => string;
  /** Other authorities of clients are trusted from now on. */
  readonly authoritiesChanged: () => void;
}

export async function openAccess(config: ApiServerConfig, parts: AccessParts): Promise<Access> {
  const { random, cache, resources, clients, serverAddress, authoritiesChanged } = parts;
  const authorization = await openAuthorization({ ...parts, config: config.authorization });
  const browsers = await forBrowsers(config, random);
  const authentication = await openAuthentication({
    ...parts,
    allowsOrigin: browsers.allowsOrigin,
    config: config.authentication,
    objects: identityObjects(cache, resources),
    own: clients.authenticator,
    client: clients.server,
    externalAddress: serverAddress,
    allowsEverything: authorization.types.has('AlwaysAllow'),
    authoritiesChanged,
  });
  return { authentication, authorization, browsers };
}
