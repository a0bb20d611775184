import { dirname, resolve } from 'node:path';
import { readAdmissionConfiguration } from '../../admission/configuration/admission-configuration.ts';
import {
  defaultPluginConfigurations,
  type PluginConfigurations,
} from '../../admission/plugins/plugin-configurations.ts';
import { systemFiles } from '../../base/files.ts';
import { dialects } from '../../dialect/dialects.ts';
import { readKubeconfigUsers } from '../../outbound/connection-files/kubeconfig-users.ts';
import type { ServerConfig } from '../../server/wiring/config.ts';
import { UsageError } from '../usage-error.ts';
import { isPluginName, readAdmissionPlugins } from './admission-flags.ts';
import { named, readBytes } from './flag-files.ts';
import type { ServerFlagValues } from './server-flags.ts';

const flag = 'admission-control-config-file';

/** Reads how plugins are configured, by flags and by the file that one of them names. */
export function readPluginConfigurations(
  values: ServerFlagValues,
): Required<Pick<ServerConfig, 'pluginConfigurations' | 'webhookUsers'>> {
  const path = values[flag];
  const {
    mutatingWebhookUsers: admit,
    validatingWebhookUsers: validating,
    ...read
  } = path === undefined ? {} : named(flag, () => readFile(path, values));
  const configurations: PluginConfigurations = {
    ...defaultPluginConfigurations,
    ...read,
    tolerationSeconds: {
      notReady: values['default-not-ready-toleration-seconds'],
      unreachable: values['default-unreachable-toleration-seconds'],
    },
  };
  if (configurations.eventLimits.length === 0 && readAdmissionPlugins(values).includes('EventRateLimit')) {
    throw new UsageError(`--enable-admission-plugins=EventRateLimit needs limits: see --${flag}`);
  }
  return { pluginConfigurations: configurations, webhookUsers: { admit, validating } };
}

const readFile = (path: string, values: ServerFlagValues) =>
  readAdmissionConfiguration(readBytes(path), {
    dialect: dialects[values.dialect],
    readFile: (other) => readBytes(resolve(dirname(path), other)),
    readUsers: (file) => readKubeconfigUsers(file, dialects[values.dialect], systemFiles),
    known: isPluginName,
  });
