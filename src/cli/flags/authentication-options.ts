import { authenticatorFromFlags, flagProblems, type OidcFlags } from '../../authn/configuration/oidc-flags.ts';
import { headerName } from '../../authn/identity-headers.ts';
import { readServiceAccountTokens } from '../../authn/service-account/options.ts';
import { parseTokenFile } from '../../authn/static-token.ts';
import { systemFiles } from '../../base/files.ts';
import type { FileContent } from '../../base/watched-file.ts';
import { dialects } from '../../dialect/dialects.ts';
import { readKubeconfig } from '../../outbound/connection-files/kubeconfig.ts';
import type { AuthenticationConfig, AuthoritiesConfig } from '../../server/wiring/config.ts';
import { UsageError } from '../usage-error.ts';
import { named, readBundle, readBytes, usage } from './flag-files.ts';
import type { ServerFlagValues } from './server-flags.ts';

/**
 * Reads the configuration of authentication from the flags. Files are read and validated, those with token keys last.
 */
export function readAuthentication(
  values: ServerFlagValues,
  readTokenKey: (path: string) => Buffer,
): AuthenticationConfig {
  const clientAuthorities = readAuthorities(values, 'client-ca-file');
  const requestHeader = readRequestHeader(values);
  const providers = readProviders(values);
  const tokenWebhook = readTokenWebhook(values);
  const staticTokens = readStaticTokens(values);
  const serviceAccounts = usage(() => readServiceAccountTokens(values, readTokenKey));
  const issuers = serviceAccounts?.apiAudiences ?? values['service-account-issuer'];
  return {
    ...(clientAuthorities && { clientAuthorities }),
    ...(requestHeader && { requestHeader }),
    staticTokens,
    ...(serviceAccounts && { serviceAccounts }),
    apiAudiences: values['api-audiences'].length > 0 ? values['api-audiences'] : issuers,
    bootstrapTokens: values['enable-bootstrap-token-auth'],
    ...(providers && { providers }),
    ...(tokenWebhook && { tokenWebhook }),
    anonymous: values['anonymous-auth'] ?? true,
    anonymousGiven: values['anonymous-auth'] !== undefined,
  };
}

function readAuthorities(
  values: ServerFlagValues,
  flag: 'client-ca-file' | 'requestheader-client-ca-file',
): AuthoritiesConfig | undefined {
  const path = values[flag];
  if (path === undefined) return undefined;
  readBundle(flag, path);
  return { fixed: [], file: { path, content: named(flag, () => readBytes(path)) } };
}

function readStaticTokens(values: ServerFlagValues): AuthenticationConfig['staticTokens'] {
  const path = values['token-auth-file'];
  return path === undefined ? [] : named('token-auth-file', () => parseTokenFile(readBytes(path).toString(), path));
}

/** Flags of authenticating proxies, which have no effect without authorities. */
const proxyFlags = [
  'requestheader-username-headers',
  'requestheader-uid-headers',
  'requestheader-group-headers',
  'requestheader-extra-headers-prefix',
  'requestheader-allowed-names',
] as const;

function readRequestHeader(values: ServerFlagValues): AuthenticationConfig['requestHeader'] {
  const authorities = readAuthorities(values, 'requestheader-client-ca-file');
  if (!authorities) {
    const given = proxyFlags.find((flag) => values[flag].length > 0);
    if (given !== undefined) throw new UsageError(`--${given} needs --requestheader-client-ca-file`);
    return undefined;
  }
  if (values['requestheader-username-headers'].length === 0) {
    throw new UsageError('--requestheader-client-ca-file needs --requestheader-username-headers');
  }
  if (values['requestheader-uid-headers'].length > 0 && !values['feature-gates'].features.RemoteRequestHeaderUID) {
    throw new UsageError('--requestheader-uid-headers needs --feature-gates=RemoteRequestHeaderUID=true');
  }
  const names = (flag: (typeof proxyFlags)[number]): readonly string[] =>
    named(flag, () => values[flag].map(headerName));
  return {
    authorities,
    allowedNames: values['requestheader-allowed-names'],
    names: {
      username: names('requestheader-username-headers'),
      uid: names('requestheader-uid-headers'),
      group: names('requestheader-group-headers'),
      extraPrefix: names('requestheader-extra-headers-prefix'),
    },
  };
}

const oidcFlagNames = [
  'oidc-ca-file',
  'oidc-client-id',
  'oidc-groups-claim',
  'oidc-groups-prefix',
  'oidc-issuer-url',
  'oidc-required-claim',
  'oidc-signing-algs',
  'oidc-username-claim',
  'oidc-username-prefix',
] as const;

function readProviders(values: ServerFlagValues): AuthenticationConfig['providers'] {
  const configFile = values['authentication-config'];
  const oidc: OidcFlags = {
    issuerUrl: values['oidc-issuer-url'],
    clientId: values['oidc-client-id'],
    usernameClaim: values['oidc-username-claim'],
    usernamePrefix: values['oidc-username-prefix'],
    groupsClaim: values['oidc-groups-claim'],
    groupsPrefix: values['oidc-groups-prefix'],
    requiredClaims: values['oidc-required-claim'],
    certificateAuthority: readOptionalBundle(values, 'oidc-ca-file'),
    signingAlgorithms: values['oidc-signing-algs'],
  };
  const oidcGiven = oidcFlagNames.filter((name) => values[name] !== undefined).map((name) => `--${name}`);
  const [problem] = flagProblems({ configFile, oidcGiven, oidc });
  if (problem !== undefined) throw new UsageError(problem);
  if (configFile !== undefined) return { type: 'file', ...readConfiguration(values, configFile) };
  const options = { dialect: dialects[values.dialect], disallowedIssuers: values['service-account-issuer'] };
  const authenticator = usage(() => authenticatorFromFlags(oidc, options));
  return authenticator && { type: 'flags', authenticators: [authenticator] };
}

const readOptionalBundle = (values: ServerFlagValues, flag: 'oidc-ca-file'): string | undefined =>
  values[flag] === undefined ? undefined : readBundle(flag, values[flag]);

function readConfiguration(values: ServerFlagValues, path: string): FileContent {
  if (!values['feature-gates'].features.StructuredAuthenticationConfiguration) {
    throw new UsageError('--authentication-config needs --feature-gates=StructuredAuthenticationConfiguration=true');
  }
  return { path, content: named('authentication-config', () => readBytes(path)) };
}

function readTokenWebhook(values: ServerFlagValues): AuthenticationConfig['tokenWebhook'] {
  const file = values['authentication-token-webhook-config-file'];
  if (file === undefined) return undefined;
  named('authentication-token-webhook-config-file', () =>
    readKubeconfig(file, dialects[values.dialect], systemFiles, { allowsHttp: true }),
  );
  return {
    file,
    version: values['authentication-token-webhook-version'],
    cacheMs: values['authentication-token-webhook-cache-ttl'],
  };
}
