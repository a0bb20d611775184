import type { TokenAuthenticator } from '../../../authn/authenticator.ts';
import { asAuthenticated } from '../../../authn/authenticator.ts';
import type { TokenIssuer } from '../../../authn/service-account/token-issuer.ts';
import type { Authorizer } from '../../../authz/authorizer.ts';
import type { RuleResolver } from '../../../authz/rule-resolver.ts';
import type { Caller } from '../../../base/caller.ts';
import type { AgentSettings, KindServices } from '../../../kinds/services.ts';
import { noSuchPath } from '../../../meta/status-error.ts';
import { freshObject, storedResource } from '../../../registry/read/fresh-object.ts';
import type { ResourceRegistry } from '../../../resources/resource-registry.ts';

/** Dependencies of `kindServices`. */
export interface KindServiceParts {
  readonly authorizer: Authorizer;
  readonly rules: RuleResolver;
  /** All bearer token authenticators. */
  readonly tokens: TokenAuthenticator;
  readonly apiAudiences: readonly string[];
  readonly agents: AgentSettings;
  readonly resources: ResourceRegistry;
  readonly componentHealth: KindServices['componentHealth'];
  /** Absent if the server has no key to sign tokens. */
  readonly issuing?: Pick<KindServices, 'tokenLifetime'> & {
    readonly issueToken: TokenIssuer['issue'];
    /** Key of the audit annotation that identifies the issued token. */
    readonly annotationKey: string;
  };
}

/**
 * Services for kinds that are answered instead of stored, for one request: whatever waits for others is aborted with
 * it.
 */
export function kindServices(parts: KindServiceParts): (request: Caller) => KindServices {
  const { authorizer, rules, tokens, apiAudiences, agents, resources, componentHealth, issuing } = parts;
  return (request) => ({
    apiAudiences,
    agents,
    authenticateToken: async (token, audiences) => {
      const identity = await tokens.authenticateToken(token, audiences, request);
      return identity && { ...identity, user: asAuthenticated(identity.user) };
    },
    authorize: (user, attributes) => authorizer.authorize(attributes, user, request),
    rulesFor: (user, namespace) => rules.rulesFor(user, namespace),
    tokenLifetime: issuing?.tokenLifetime ?? refuse,
    issueToken: issuing
      ? async (grant) => {
          const issued = await issuing.issueToken(grant);
          request.annotate?.(issuing.annotationKey, issued.credentialId);
          return issued;
        }
      : refuse,
    componentHealth,
    object: async (resource, namespace, name) =>
      freshObject(storedResource(resources, { group: '', version: 'v1', resource }), {
        namespace,
        name,
        signal: request.signal,
      }),
  });
}

/** As in kube-apiserver without a signing key: the path does not exist. */
const refuse = (): never => {
  throw noSuchPath();
};
