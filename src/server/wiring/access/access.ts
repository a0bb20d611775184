import type { ApiServerConfig } from '../config.ts';
import type { ScopeParts } from '../scopes/scope-parts.ts';
import { type Authentication, openAuthentication } from './authentication.ts';
import { type Authorization, openAuthorization } from './authorization.ts';
import { identityObjects } from './identity-objects.ts';

/** Authentication and authorization of one scope. */
export interface Access {
  readonly authentication: Authentication;
  readonly authorization: Authorization;
}

export async function openAccess(config: ApiServerConfig, parts: ScopeParts): Promise<Access> {
  const { cache, resources, clients, identities, cors } = parts;
  const authorization = await openAuthorization({ ...parts, config: config.authorization });
  const authentication = openAuthentication({
    ...parts,
    allowsOrigin: cors.allowsOrigin,
    config: config.authentication,
    sources: identities,
    scope: resources.scope,
    objects: identityObjects(cache, resources),
    own: clients.authenticator,
    client: clients.server,
    allowsEverything: authorization.types.has('AlwaysAllow'),
  });
  return { authentication, authorization };
}
