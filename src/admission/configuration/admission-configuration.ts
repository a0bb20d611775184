import { ConfigurationError, readConfiguration, requireNoErrors } from '../../codec/configuration-document.ts';
import type { ParsedJson } from '../../codec/json.ts';
import { parseYaml } from '../../codec/yaml.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { duplicate, invalid, required } from '../../meta/field-error.ts';
import type { KubeconfigUsers } from '../../outbound/connection-files/kubeconfig-users.ts';
import { anyValue, list, opt, string, struct } from '../../schema/schema.ts';
import type { PluginConfigurations } from '../plugins/plugin-configurations.ts';
import { readEventRateLimit } from './event-rate-limit-configuration.ts';
import { readPodNodeSelector } from './pod-node-selector-configuration.ts';
import { readPodSecurity } from './pod-security-document.ts';
import { readPodTolerationRestriction } from './pod-toleration-restriction-configuration.ts';
import { readResourceQuota } from './resource-quota-configuration.ts';
import { readWebhookAdmission } from './webhook-admission-configuration.ts';

const pluginConfiguration = struct('api.apiserver.v1.AdmissionPluginConfiguration', 'Configuration of one plugin.', {
  name: opt(1, string(), 'Name of the plugin.'),
  path: opt(2, string(), 'File with its configuration.'),
  configuration: opt(3, anyValue(), 'Its configuration, in place of a file.'),
});

const admissionConfiguration = struct('api.apiserver.v1.AdmissionConfiguration', 'Configuration of plugins.', {
  plugins: opt(1, list(pluginConfiguration), 'The plugins that are configured.'),
});

interface FileConfigurations extends Partial<Omit<PluginConfigurations, 'tolerationSeconds'>> {
  readonly mutatingWebhookUsers?: KubeconfigUsers;
  readonly validatingWebhookUsers?: KubeconfigUsers;
}

/** Reads what a plugin is configured with. Throws a ConfigurationError. */
const readers: Readonly<Record<string, (document: ParsedJson, options: ReadOptions) => FileConfigurations>> = {
  EventRateLimit: (document, { dialect }) => ({ eventLimits: readEventRateLimit(document, dialect) }),
  MutatingAdmissionWebhook: (document, options) => ({ mutatingWebhookUsers: readWebhookAdmission(document, options) }),
  PodNodeSelector: (document) => ({ podNodeSelectors: readPodNodeSelector(document) }),
  PodSecurity: (document, { dialect }) => ({ podSecurity: readPodSecurity(document, dialect) }),
  PodTolerationRestriction: (document, { dialect }) => ({
    podTolerations: readPodTolerationRestriction(document, dialect),
  }),
  ResourceQuota: (document, { dialect }) => ({ limitedResources: readResourceQuota(document, dialect) }),
  ValidatingAdmissionWebhook: (document, options) => ({
    validatingWebhookUsers: readWebhookAdmission(document, options),
  }),
};

interface ReadOptions {
  readonly dialect: Dialect;
  /** Content of a file that a plugin's `path` names. Its errors name the file. */
  readonly readFile: (path: string) => Uint8Array;
  /** Users of a kubeconfig. Its errors name the file. */
  readonly readUsers: (file: string) => KubeconfigUsers;
  /** All names of plugins, those included that are not here. */
  readonly known: (name: string) => boolean;
}

/**
 * Reads the file of `--admission-control-config-file`: an AdmissionConfiguration in YAML or JSON. Throws a
 * ConfigurationError that names the plugin, its file and the field.
 */
export function readAdmissionConfiguration(content: Uint8Array, options: ReadOptions): FileConfigurations {
  const { plugins = [] } = readConfiguration(content, {
    kind: 'AdmissionConfiguration',
    apiVersions: [`${options.dialect.group('apiserver.config')}/v1`, `${options.dialect.group('apiserver')}/v1alpha1`],
    schema: admissionConfiguration,
  });
  let read: FileConfigurations = {};
  const names = new Set<string>();
  for (const [at, { name = '', path = '', configuration }] of plugins.entries()) {
    const field = `plugins[${at}]`;
    const reader = readerOf(name, `${field}.name`, names, options);
    if (configuration === undefined && path === '') continue;
    const [place, document] =
      configuration === undefined
        ? [`${field}.path: ${path}`, () => parseYaml(options.readFile(path))]
        : [`${field}.configuration`, () => ({ value: configuration, duplicates: [] })];
    try {
      read = { ...read, ...reader(document(), options) };
    } catch (error) {
      const problems = error instanceof ConfigurationError ? error.problems : [(error as Error).message];
      throw new ConfigurationError(problems.map((problem) => `${place}: ${problem}`));
    }
  }
  return read;
}

function readerOf(name: string, field: string, names: Set<string>, { known }: ReadOptions) {
  if (name === '') requireNoErrors([required(field)]);
  if (!known(name)) requireNoErrors([invalid(field, name, 'there is no such admission plugin')]);
  if (names.has(name)) requireNoErrors([duplicate(field, name)]);
  names.add(name);
  const reader = Object.hasOwn(readers, name) ? readers[name] : undefined;
  if (!reader) requireNoErrors([invalid(field, name, 'this plugin reads no configuration here')]);
  return reader as NonNullable<typeof reader>;
}
