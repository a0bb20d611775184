import { nodeFields } from '../../dialect/node-fields.ts';
import { type FieldError, forbidden, invalid, required } from '../../meta/field-error.ts';
import { isDataKey, isDnsLabel, isDnsSubdomain } from '../../meta/formats.ts';
import { shownAsGo } from '../../schema/go-text.ts';
import { always, type Infer, opt, ptr, string, struct } from '../../schema/schema.ts';

const configMapNodeConfigSource = struct('api.core.v1.ConfigMapNodeConfigSource', 'A ConfigMap as the source of the configuration of a node agent; no longer used.', {
  namespace: always(1, string(), 'Namespace of the ConfigMap.'),
  name: always(2, string(), 'Name of the ConfigMap.'),
  uid: opt(3, string(), 'UID of the ConfigMap; in the status only.'),
  resourceVersion: opt(4, string(), 'Version of the ConfigMap; in the status only.'),
  [nodeFields.agentConfigKey]: always(5, string(), 'Key of the configuration in the ConfigMap.'),
});

export const nodeConfigSource = struct('api.core.v1.NodeConfigSource', 'Source of the configuration of a node agent; no longer used.', {
  configMap: ptr(2, configMapNodeConfigSource, 'A ConfigMap as the source.'),
});

type ConfigMapSource = Infer<typeof configMapNodeConfigSource>;

/** A source in `spec` names a ConfigMap; one in `status` also has the uid and resourceVersion that were read. */
export function validateConfigSource(source: Infer<typeof nodeConfigSource>, place: 'spec' | 'status', field: string): FieldError[] {
  if (!source.configMap) return [shownAsGo(invalid(field, source, 'exactly one reference subfield must be non-nil'), nodeConfigSource)];
  const path = `${field}.configMap`;
  return [...validateVersion(source.configMap, place, path), ...validateReference(source.configMap, path)];
}

const validateVersion = (source: ConfigMapSource, place: 'spec' | 'status', path: string): FieldError[] =>
  (['uid', 'resourceVersion'] as const).flatMap((name) => {
    if (place === 'spec') return source[name] ? [forbidden(`${path}.${name}`, `${name} must not be set in spec`)] : [];
    return source[name] ? [] : [required(`${path}.${name}`, `${name} must be set in status`)];
  });

const referenceChecks = {
  namespace: isDnsLabel,
  name: isDnsSubdomain,
  [nodeFields.agentConfigKey]: isDataKey,
} as const;

const validateReference = (source: ConfigMapSource, path: string): FieldError[] =>
  (['namespace', 'name', nodeFields.agentConfigKey] as const).flatMap((name) => {
    const value = source[name];
    return value ? referenceChecks[name](value).map((problem) => invalid(`${path}.${name}`, value, problem)) : [required(`${path}.${name}`, `${name} must be set`)];
  });
