import type { RequestHeaderNames } from '../../authn/identity-headers.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { systemConfigMapNames } from '../../dialect/system-config-map-names.ts';
import { certificatesFromPem, certificateToPem } from '../../pki/pem.ts';
import type { ConfigMapData, SystemConfigMap } from './system-config-maps.ts';

/** Authorities of clients and of authenticating proxies, as PEM blocks. */
export interface TrustedAuthorities {
  readonly clients: readonly string[];
  readonly proxies: readonly string[];
}

interface AuthenticationTrustOptions {
  readonly dialect: Dialect;
  /** As they are now. */
  readonly authorities: () => TrustedAuthorities;
  readonly requestHeader: { readonly allowedNames: readonly string[]; readonly names: RequestHeaderNames } | undefined;
  /** Feature gate `RemoteRequestHeaderUID`. */
  readonly tellsUid: boolean;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * By which authorities, and which headers of proxies, servers beside this one recognise its clients: delegated authentication and
 * the aggregation layer read it there. What other servers of the cluster have added stays, but for authorities that have expired.
 */
export const authenticationTrust = (options: AuthenticationTrustOptions): SystemConfigMap => ({
  name: systemConfigMapNames(options.dialect).authentication,
  data(found) {
    const { authorities, requestHeader, tellsUid, now } = options;
    const { clients, proxies } = authorities();
    const pemOf = (key: string, own: readonly string[]): ConfigMapData => {
      const pem = currentBundle([...blocksOf(found[key]), ...own], now());
      return pem === '' ? {} : { [key]: pem };
    };
    const list = (key: string, own: readonly string[] = []): ConfigMapData => ({
      [key]: JSON.stringify([...new Set([...textsOf(found[key]), ...own])]),
    });
    const ofProxies = pemOf('requestheader-client-ca-file', proxies);
    if (Object.keys(ofProxies).length === 0) return pemOf('client-ca-file', clients);
    const names = requestHeader?.names;
    const uid = list('requestheader-uid-headers', names?.uid);
    return {
      ...pemOf('client-ca-file', clients),
      ...ofProxies,
      ...list('requestheader-allowed-names', requestHeader?.allowedNames),
      ...list('requestheader-username-headers', names?.username),
      ...(tellsUid && uid['requestheader-uid-headers'] !== '[]' && uid),
      ...list('requestheader-group-headers', names?.group),
      ...list('requestheader-extra-headers-prefix', names?.extraPrefix),
    };
  },
});

function currentBundle(blocks: readonly string[], now: number): string {
  const current = blocks.filter((block) =>
    certificatesFromPem(block).every(({ validToDate }) => validToDate.getTime() > now),
  );
  return [...new Set(current)].join('');
}

/** What somebody has broken counts as absent. */
function blocksOf(pem = ''): readonly string[] {
  try {
    return certificatesFromPem(pem).map(certificateToPem);
  } catch {
    return [];
  }
}

function textsOf(json = '[]'): readonly string[] {
  try {
    const list: unknown = JSON.parse(json);
    return Array.isArray(list) ? list.filter((each) => typeof each === 'string') : [];
  } catch {
    return [];
  }
}
