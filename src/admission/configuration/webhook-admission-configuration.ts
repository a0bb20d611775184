import { isAbsolute } from 'node:path';
import { ConfigurationError, decodeConfiguration, requireNoErrors } from '../../codec/configuration-document.ts';
import type { ParsedJson } from '../../codec/json.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { invalid } from '../../meta/field-error.ts';
import type { KubeconfigUsers } from '../../outbound/connection-files/kubeconfig-users.ts';
import { isRecord } from '../../schema/own-property.ts';
import { opt, string, struct } from '../../schema/schema.ts';

const configuration = struct('plugin.webhook.v1.WebhookAdmission', 'Calls of admission webhooks.', {
  kubeConfigFile: opt(1, string(), 'Kubeconfig whose users are for the webhooks that they are named after.'),
});

interface ReadOptions {
  readonly dialect: Dialect;
  readonly readUsers: (file: string) => KubeconfigUsers;
}

/** Reads the configuration of a plugin of webhooks: what it shows to the webhooks that it calls. The earlier version has another kind. */
export function readWebhookAdmission(document: ParsedJson, { dialect, readUsers }: ReadOptions): KubeconfigUsers {
  const group = dialect.group('apiserver.config');
  const isEarlier = isRecord(document.value) && document.value['apiVersion'] === `${group}/v1alpha1`;
  const { kubeConfigFile: file = '' } = decodeConfiguration(document, {
    kind: isEarlier ? 'WebhookAdmission' : 'WebhookAdmissionConfiguration',
    apiVersions: isEarlier ? [`${group}/v1alpha1`] : [`${group}/v1`, `${group}/v1alpha1`],
    schema: configuration,
  });
  if (!isAbsolute(file)) requireNoErrors([invalid('kubeConfigFile', file, 'must be an absolute file path')]);
  try {
    return readUsers(file);
  } catch (error) {
    throw new ConfigurationError([`kubeConfigFile: ${error instanceof Error ? error.message : error}`]);
  }
}
