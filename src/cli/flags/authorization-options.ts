import { parsePolicyFile } from '../../authz/abac/policy-file.ts';
import { authorizationFromFlags } from '../../authz/configuration/authorization-flags.ts';
import { dialects } from '../../dialect/dialects.ts';
import type { AuthorizationConfig } from '../../server/wiring/config.ts';
import { named, readBytes, usage } from './flag-files.ts';
import type { ServerFlagValues } from './server-flags.ts';

/** Reads the configuration of authorization from the flags and the files they name. */
export function readAuthorization(values: ServerFlagValues): AuthorizationConfig {
  const chain = usage(() =>
    authorizationFromFlags(
      {
        config: values['authorization-config'],
        modes: values['authorization-mode'],
        policyFile: values['authorization-policy-file'],
        webhookConfigFile: values['authorization-webhook-config-file'],
        webhookVersion: values['authorization-webhook-version'],
        webhookAuthorizedTtlMs: values['authorization-webhook-cache-authorized-ttl'],
        webhookUnauthorizedTtlMs: values['authorization-webhook-cache-unauthorized-ttl'],
      },
      ['Node', 'RBAC'],
    ),
  );
  const policies = readPolicies(values);
  return {
    chain:
      chain.type === 'flags'
        ? { type: 'specs', specs: chain.specs }
        : {
            type: 'file',
            path: chain.file,
            content: named('authorization-config', () => readBytes(chain.file)),
          },
    ...(policies && { policies }),
  };
}

function readPolicies(values: ServerFlagValues): AuthorizationConfig['policies'] {
  const path = values['authorization-policy-file'];
  if (path === undefined) return undefined;
  return named(
    'authorization-policy-file',
    () => parsePolicyFile(readBytes(path), path, dialects[values.dialect]).policies,
  );
}
