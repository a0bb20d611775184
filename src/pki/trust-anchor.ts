import { basicConstraints, type Extensions, hasValidBasicConstraints } from './extensions.ts';
import { requireCertificate } from './require-certificate.ts';

/** What keeps a certificate from being a trust anchor of others. */
type AnchorFault = 'notX509' | 'notAuthority' | 'badConstraints';

/**
 * Why bytes are not the certificate of an authority (RFC 5280 section 4.2.1.9), in DER and with nothing after it; undefined
 * if they are. The signature and the dates are not checked, nor are the uses of the key: an anchor is trusted because it
 * is in a bundle.
 */
export function anchorFault(bytes: Buffer): AnchorFault | undefined {
  try {
    const extensions: Extensions | undefined = requireCertificate(bytes);
    if (!extensions) return 'notAuthority';
    if (!hasValidBasicConstraints(extensions)) return 'badConstraints';
    return basicConstraints(extensions).isAuthority ? undefined : 'notAuthority';
  } catch {
    return 'notX509';
  }
}
