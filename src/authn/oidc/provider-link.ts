import type { Closable } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { discoveryAddress, readKeysAddress } from './discovery.ts';
import type { TokenIssuer } from './jwt-authenticator.ts';
import { type KeySet, readKeySet } from './key-set.ts';
import { KeySource } from './key-source.ts';
import type { OidcContext } from './oidc-provider.ts';
import { ProviderConnection } from './provider-connection.ts';

/**
 * How one issuer is reached, and its keys: what stays as it is while only the rules for its tokens change. Fetches the
 * keys from when it is made, in the background.
 */
export class ProviderLink implements Closable {
  readonly keys: KeySource;
  readonly connection: ProviderConnection;
  readonly #issuer: TokenIssuer;
  readonly #context: OidcContext;

  /**
   * `before` is how the same issuer was reached until now. Its keys count until they have been fetched anew where all who
   * vouched for them are still trusted; where not, tokens wait for the first fetch. Throws where the authorities of the issuer
   * cannot be read.
   */
  constructor(issuer: TokenIssuer, context: OidcContext, before?: ProviderLink) {
    this.#issuer = issuer;
    this.#context = context;
    this.connection = new ProviderConnection(context, issuer.certificateAuthority);
    const initial = before && this.#trusts(before) ? before.keys.keys : undefined;
    this.keys = this.keysOf(issuer, { ...(initial && { initial }), awaited: before !== undefined });
  }

  /** Whether the other's keys came from where this one looks for them, and who vouched for them is still trusted. */
  #trusts(other: ProviderLink): boolean {
    const isThere = other.#issuer.discoveryURL === this.#issuer.discoveryURL;
    return isThere && other.connection.isTrustedBy(this.connection);
  }

  /** Whether this is how the issuer is to be reached. */
  leadsTo({ url, discoveryURL, certificateAuthority }: TokenIssuer): boolean {
    const own = this.#issuer;
    return (
      own.url === url &&
      own.discoveryURL === discoveryURL &&
      (own.certificateAuthority || undefined) === (certificateAuthority || undefined)
    );
  }

  /** Begins to fetch the keys of an issuer that is reached with the same authorities. */
  keysOf(
    issuer: Pick<TokenIssuer, 'url' | 'discoveryURL'>,
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

  /** The description is read each time: the keys may move. */
  async #fetchKeys(issuer: Pick<TokenIssuer, 'url' | 'discoveryURL'>): Promise<KeySet> {
    const description = await this.connection.get(discoveryAddress(issuer), { bytesMax: limits.oidcDiscoveryBytesMax });
    const address = readKeysAddress(description, issuer.url);
    return readKeySet(await this.connection.get(address, { bytesMax: limits.oidcKeySetBytesMax }));
  }

  close(): void {
    this.keys.close();
    this.connection.close();
  }
}
