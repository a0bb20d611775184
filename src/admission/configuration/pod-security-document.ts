import { decodeConfiguration, requireNoErrors } from '../../codec/configuration-document.ts';
import type { ParsedJson } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { duplicate, type FieldError, invalid } from '../../meta/field-error.ts';
import { type FormatCheck, isDnsLabel, isDnsSubdomain } from '../../meta/formats.ts';
import { list, opt, string, struct } from '../../schema/schema.ts';
import { readPolicy } from '../plugins/pod-security/level-version.ts';
import {
  defaultPodSecurity,
  type PodSecurityConfiguration,
} from '../plugins/pod-security/pod-security-configuration.ts';

const podSecurityDefaults = struct('plugin.podsecurity.v1.PodSecurityDefaults', 'For namespaces without labels.', {
  enforce: opt(1, string(), 'Level that is enforced.'),
  'enforce-version': opt(2, string(), 'Version of that level.'),
  audit: opt(3, string(), 'Level that is audited.'),
  'audit-version': opt(4, string(), 'Version of that level.'),
  warn: opt(5, string(), 'Level that is warned of.'),
  'warn-version': opt(6, string(), 'Version of that level.'),
});

const podSecurityExemptions = struct('plugin.podsecurity.v1.PodSecurityExemptions', 'What is not checked.', {
  usernames: opt(1, list(string()), 'Users whose pods are not checked.'),
  namespaces: opt(2, list(string()), 'Namespaces whose pods are not checked.'),
  runtimeClasses: opt(3, list(string()), 'Runtime classes whose pods are not checked.'),
});

const podSecurityConfiguration = struct('plugin.podsecurity.v1.PodSecurityConfiguration', 'Pod Security admission.', {
  defaults: opt(1, podSecurityDefaults, 'For namespaces without labels.'),
  exemptions: opt(2, podSecurityExemptions, 'What is not checked.'),
});

/** Reads a PodSecurityConfiguration: `v1`, or one of its earlier versions, which are the same. */
export function readPodSecurity(document: ParsedJson, dialect: Dialect): PodSecurityConfiguration {
  const group = dialect.group('pod-security.admission.config');
  const { defaults = {}, exemptions = {} } = decodeConfiguration(document, {
    kind: 'PodSecurityConfiguration',
    apiVersions: ['v1', 'v1beta1', 'v1alpha1'].map((version) => `${group}/${version}`),
    schema: podSecurityConfiguration,
  });
  const written = Object.entries(defaults).filter(([, value]) => value !== '');
  const { policy, errors } = readPolicy(Object.fromEntries(written) as Record<string, string>, {
    prefix: '',
    defaults: defaultPodSecurity.defaults,
  });
  // The fields have the names of labels.
  const fields = errors.map((error) => ({ ...error, field: error.field.replace(/^.*\[(.*)\]$/, 'defaults.$1') }));
  const { usernames = [], namespaces = [], runtimeClasses = [] } = exemptions;
  requireNoErrors([
    ...fields,
    ...checkEach('exemptions.namespaces', namespaces, isDnsLabel),
    ...checkEach('exemptions.runtimeClasses', runtimeClasses, isDnsSubdomain),
    ...checkEach('exemptions.usernames', usernames, (name) => (name === '' ? ['username must not be empty'] : [])),
  ]);
  return { defaults: policy, exemptions: { usernames, namespaces, runtimeClasses } };
}

function checkEach(field: string, values: readonly string[], check: FormatCheck): readonly FieldError[] {
  return values.flatMap((value, at) => {
    const problems = check(value);
    if (problems.length > 0) return [invalid(`${field}[${at}]`, value, problems.join(', '))];
    return values.indexOf(value) < at ? [duplicate(`${field}[${at}]`, value)] : [];
  });
}
