import type { SignatureAlgorithm } from '../../pki/signature-algorithm.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { JwtFields } from '../jwt.ts';

/** Identity and location of a provider (spec section 5.5, `issuer`). Already validated. */
export interface IssuerSettings {
  /** `https`; must exactly equal `iss` of the tokens and `issuer` of the provider's metadata. */
  readonly url: string;
  /** URL of the metadata, if not at the well-known path under `url`. */
  readonly discoveryURL?: string | undefined;
  /** PEM. Absent: the system's trust roots. */
  readonly certificateAuthority?: string | undefined;
  /** A token must be valid for at least one of them. Never empty. */
  readonly audiences: readonly string[];
}

/** Settings of one accepted provider, from the flags or from an entry of the configuration file. */
export interface JwtAuthenticator {
  readonly issuer: IssuerSettings;
  readonly signingAlgorithms: readonly SignatureAlgorithm[];
  /** The groups claim, if the mapping is a claim; it may be distributed (OpenID Connect Core section 5.6.2). */
  readonly groupsClaim?: string | undefined;
  /** Maps verified claims to a user. Throws if a rule fails or a claim is missing. */
  identify(claims: JwtFields): UserInfo;
}
