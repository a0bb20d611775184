import type { SignatureAlgorithm } from '../../pki/signature-algorithm.ts';
import type { UserInfo } from '../../request/user-info.ts';
import type { JwtFields } from '../jwt.ts';

/** What a provider is known by, and how to reach it (spec section 5.5, `issuer`). Validated by whoever made it. */
export interface TokenIssuer {
  /** `https`; equals the `iss` of its tokens, and the `issuer` of the document that describes it, to the letter. */
  readonly url: string;
  /** Where that document is, if not in the usual place under `url`. */
  readonly discoveryURL?: string | undefined;
  /** PEM. Absent: the roots of the system. */
  readonly certificateAuthority?: string | undefined;
  /** A token must be meant for at least one of them. Never empty. */
  readonly audiences: readonly string[];
}

/** One provider whose tokens are accepted: what the flags, or one entry of the configuration file, come to. */
export interface JwtAuthenticator {
  readonly issuer: TokenIssuer;
  readonly signingAlgorithms: readonly SignatureAlgorithm[];
  /** The claim that holds the groups, where it is named: it may stand elsewhere (OpenID Connect Core section 5.6.2). */
  readonly groupsClaim?: string | undefined;
  /** Whose the token is. Throws where a rule does not hold or a claim is missing. Called with verified claims only. */
  identify(claims: JwtFields): UserInfo;
}
