import { X509Certificate } from 'node:crypto';
import { limits } from '../base/limits.ts';
import { requireDer } from './canonical-der.ts';
import { basicConstraints, hasValidBasicConstraints, readExtensions } from './extensions.ts';

/** What keeps a certificate from being a trust anchor of others. */
type AnchorFault = 'notX509' | 'notAuthority' | 'badConstraints';

const sequenceTag = 0x30;

/**
 * Why bytes are not the certificate of an authority (RFC 5280 section 4.2.1.9), in DER and with nothing after it; undefined
 * if they are. The signature and the dates are not checked, nor are the uses of the key: an anchor is trusted because it
 * is in a bundle.
 */
export function anchorFault(bytes: Buffer): AnchorFault | undefined {
  try {
    // OpenSSL reads BER too, and ignores what follows; clients do not.
    requireDer(bytes, { valuesMax: limits.certificateValuesMax, depthMax: limits.certificateRequestDepthMax });
    if (bytes[0] !== sequenceTag) return 'notX509';
    // OpenSSL checks the certificate but not its extensions.
    const extensions = new X509Certificate(bytes) && readExtensions({ raw: bytes });
    if (!extensions) return 'notAuthority';
    if (!hasValidBasicConstraints(extensions)) return 'badConstraints';
    return basicConstraints(extensions).isAuthority ? undefined : 'notAuthority';
  } catch {
    return 'notX509';
  }
}
