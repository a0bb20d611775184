import { defaultPluginConfigurations } from '../../admission/plugins/plugin-configurations.ts';
import { requirePermission, requireUnsafeDelete } from '../../authz/authorizer.ts';
import type { Caller } from '../../base/caller.ts';
import type { KindServices } from '../../kinds/services.ts';
import { kindCounters } from '../../registry/kind-counters.ts';
import { ruleTimes } from '../../registry/rule-times.ts';
import type { RegistryParts } from '../../registry/verb.ts';
import type { ResourceRequest } from '../../request/request-info.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { followDefaultClasses } from '../admission/follow-default-classes.ts';
import { openDynamicAdmission } from '../admission/open-dynamic-admission.ts';
import { componentHealth } from '../upkeep/component-health.ts';
import type { Access } from './access/access.ts';
import { type AdmissionLookups, admissionLookups, composeAdmission } from './access/admission.ts';
import { kindServices } from './access/kind-services.ts';
import { type ApiServerConfig, defaultAgents } from './config.ts';
import { namesOfEnabled } from './features.ts';
import { namespaceIdentity } from './scopes/namespace-identity.ts';
import type { ScopeParts } from './scopes/scope-parts.ts';
import type { CurrentServiceRanges } from './service-ranges.ts';

/** The dependencies of the registry's verbs. */
export function registryParts(
  config: ApiServerConfig,
  parts: ScopeParts & Access & { readonly services: CurrentServiceRanges },
): RegistryParts & { readonly lookups: AdmissionLookups } {
  const { dialect, clock, random, logger, metrics, store, cache, resources, authorization } = parts;
  const { authorizer, index: rbac } = authorization;
  const dynamic = openDynamicAdmission(parts, config.webhookUsers);
  const defaultClasses = followDefaultClasses(parts);
  const features = namesOfEnabled(config.features);
  const { admissionPlugins, pluginConfigurations: configurations = defaultPluginConfigurations } = config;
  const lookups = admissionLookups({ ...parts, configurations, authorizer, rbac, dynamic, defaultClasses });
  const admitting = { dialect, configurations, features, clock, random, lookups, metrics, inline: true };
  return {
    ...{ resources, store, cache, lookups, dialect, clock, random, logger },
    admission: composeAdmission(admissionPlugins, admitting),
    servicesFor: servicesOfKinds(config, parts),
    requireCreate: (info: ResourceRequest, user: UserInfo, request: Caller) =>
      requirePermission(authorizer, { ...info, verb: 'create' }, user, request),
    isSameNamespace: namespaceIdentity(parts),
    requireUnsafeDelete: (info, user, request) => requireUnsafeDelete(authorizer, info, user, request),
    pools: () => parts.services.pools(),
    count: kindCounters(metrics),
    timeRules: ruleTimes(metrics, clock),
    inline: true,
    features,
    storeName: config.storage.backend,
    unsafeDeletion: config.features.AllowUnsafeMalformedObjectDeletion,
    watchMsMin: config.requests.watchMsMin,
  };
}

function servicesOfKinds(config: ApiServerConfig, parts: ScopeParts & Access): (request: Caller) => KindServices {
  const { dialect, controllers } = config;
  const { authentication, authorization, resources, identities, clock, health } = parts;
  const { tokens, serviceAccounts } = authentication;
  const { apiAudiences } = config.authentication;
  const issuer = serviceAccounts?.issuer;
  const tokenLifetime = identities.serviceAccounts?.lifetime;
  const annotationKey = `authentication.${dialect.domain}/issued-credential-id`;
  const issuing = issuer && tokenLifetime && { tokenLifetime, issueToken: issuer.issue, annotationKey };
  const { storeProblems } = health;
  const runsControllers = controllers.run.length > 0;
  return kindServices({
    ...{ ...authorization, tokens, apiAudiences, agents: config.agents ?? defaultAgents },
    ...{ resources, ...(issuing && { issuing }) },
    componentHealth: componentHealth({ dialect, clock, resources, storeProblems, runsControllers }),
  });
}
