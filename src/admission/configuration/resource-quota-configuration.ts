import { decodeConfiguration, requireNoErrors } from '../../codec/configuration-document.ts';
import type { ParsedJson } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { scopeSelectorOf } from '../../kinds/quota/quota.ts';
import { notSupported, required } from '../../meta/field-error.ts';
import { isRecord } from '../../schema/own-property.ts';
import { always, type Infer, list, opt, string, struct } from '../../schema/schema.ts';
import type { LimitedResource } from '../plugins/resource-quota/check-quotas.ts';

const scope = struct('plugin.resourcequota.v1.ScopedResourceSelectorRequirement', 'A scope, and which of its values.', {
  scopeName: always(1, string(), 'Name of the scope.'),
  operator: always(2, string(), 'How the values are meant.'),
  values: opt(3, list(string()), 'The values.'),
});

const limitedResource = struct('plugin.resourcequota.v1.LimitedResource', 'What needs a quota that covers it.', {
  apiGroup: opt(1, string(), 'Group of the resource.'),
  resource: always(2, string(), 'Plural name of the resource.'),
  matchContains: opt(3, list(string()), 'Parts of the names of amounts.'),
  matchScopes: opt(4, list(scope), 'Scopes.'),
});

const configuration = struct('plugin.resourcequota.v1.Configuration', 'What may not be used without a quota.', {
  limitedResources: opt(1, list(limitedResource), 'What is limited.'),
});

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

/** Reads the configuration of the plugin ResourceQuota. Earlier versions have a group and a kind of their own. */
export function readResourceQuota(document: ParsedJson, { group }: Dialect): readonly LimitedResource[] {
  const earlier = ['v1beta1', 'v1alpha1'].map((version) => `${group('resourcequota.admission')}/${version}`);
  const { value } = document;
  const isEarlier = isRecord(value) && earlier.some((each) => each === value['apiVersion']);
  const { limitedResources = [] } = decodeConfiguration(document, {
    kind: isEarlier ? 'Configuration' : 'ResourceQuotaConfiguration',
    apiVersions: isEarlier ? earlier : [`${group('apiserver.config')}/v1`, ...earlier],
    schema: configuration,
  });
  requireNoErrors(limitedResources.flatMap(check));
  return limitedResources.map(({ apiGroup = '', resource = '', matchContains = [], matchScopes = [] }) => ({
    ...{ group: apiGroup, resource, matchContains },
    matchScopes: matchScopes.map(scopeSelectorOf),
  }));
}

const check = ({ resource = '', matchScopes = [] }: Infer<typeof limitedResource>, at: number) => [
  ...(resource === '' ? [required(`limitedResources[${at}].resource`)] : []),
  // A published server finds out when it looks at a pod, and lets that pass.
  ...matchScopes.flatMap(({ operator = '' }, index) =>
    operators.includes(operator)
      ? []
      : [notSupported(`limitedResources[${at}].matchScopes[${index}].operator`, operator, operators)],
  ),
];
