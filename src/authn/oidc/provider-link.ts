import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import type { IssuerSettings } from './jwt-authenticator.ts';
import { type KeySet, readKeySet } from './key-set.ts';
import { KeySource } from './key-source.ts';
import type { OidcContext } from './oidc-provider.ts';
import { ProviderConnection } from './provider-connection.ts';
import { discoveryAddress, readKeysAddress } from './provider-discovery.ts';

/**
 * Connection to one issuer and its keys: the part that stays while only the rules for tokens change. Starts fetching
 * the keys in the background when created.
 */
export class ProviderLink implements Closable {
  readonly keys: KeySource;
  readonly connection: ProviderConnection;
  readonly #issuer: IssuerSettings;
  readonly #context: OidcContext;

  /**
   * `before` is the previous link to the same issuer. Its keys stay in use until the first fetch if the connection
   * still trusts all authorities from which they came; otherwise tokens wait for the first fetch. Throws if the
   * issuer's certificate authority is invalid.
   */
  constructor(issuer: IssuerSettings, context: OidcContext, before?: ProviderLink) {
    this.#issuer = issuer;
    this.#context = context;
    this.connection = new ProviderConnection(context, issuer.certificateAuthority);
    const initial = before && this.#trusts(before) ? before.keys.keys : undefined;
    this.keys = this.keysOf(issuer, { ...(initial && { initial }), awaited: before !== undefined });
  }

  /** Whether the other link's keys came from the same URL, through authorities that are still trusted. */
  #trusts(other: ProviderLink): boolean {
    const isThere = other.#issuer.discoveryURL === this.#issuer.discoveryURL;
    return isThere && other.connection.isTrustedBy(this.connection);
  }

  /** Whether this link fits the settings of an issuer. */
  fits({ url, discoveryURL, certificateAuthority }: IssuerSettings): boolean {
    const own = this.#issuer;
    return (
      own.url === url &&
      own.discoveryURL === discoveryURL &&
      (own.certificateAuthority || undefined) === (certificateAuthority || undefined)
    );
  }

  /** Starts fetching the keys of an issuer, with this connection's trust roots. */
  keysOf(
    issuer: Pick<IssuerSettings, 'url' | 'discoveryURL'>,
    options: { readonly initial?: KeySet; readonly awaited?: boolean } = {},
  ): KeySource {
    const { clock, random, logger } = this.#context;
    return new KeySource({
      ...options,
      clock,
      random,
      load: () => this.#fetchKeys(issuer),
      failed: (error) => logger.warn('the keys of a token issuer cannot be fetched', { issuer: issuer.url, error }),
    });
  }

  /** Reads the metadata each time, because `jwks_uri` may change. */
  async #fetchKeys(issuer: Pick<IssuerSettings, 'url' | 'discoveryURL'>): Promise<KeySet> {
    const description = await this.connection.get(discoveryAddress(issuer), { bytesMax: limits.oidcDiscoveryBytesMax });
    const address = readKeysAddress(description, issuer.url);
    return readKeySet(await this.connection.get(address, { bytesMax: limits.oidcKeySetBytesMax }));
  }

  close(): void {
    this.keys.close();
    this.connection.close();
  }
}
