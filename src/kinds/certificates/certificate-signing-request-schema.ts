import { always, bytes, documentedEnum, int32, list, map, mergeList, opt, ptr, req, string, struct, time } from '../../schema/schema.ts';
import { kindSchema } from '../meta/kind-schema.ts';

const spec = struct('api.certificates.v1.CertificateSigningRequestSpec', 'What is asked for, and by whom.', {
  request: always(1, bytes(), 'The certificate request: a PEM block with the label `CERTIFICATE REQUEST`.'),
  signerName: always(7, string(), 'The signer that is asked: a domain and a path.'),
  expirationSeconds: ptr(8, int32(), 'Wanted lifetime of the certificate, 600 or more; the signer may choose another one.'),
  usages: opt(
    5,
    list(
      documentedEnum(
        'any',
        'cert sign',
        'client auth',
        'code signing',
        'content commitment',
        'crl sign',
        'data encipherment',
        'decipher only',
        'digital signature',
        'email protection',
        'encipher only',
        'ipsec end system',
        'ipsec tunnel',
        'ipsec user',
        'key agreement',
        'key encipherment',
        'microsoft sgc',
        'netscape sgc',
        'ocsp signing',
        's/mime',
        'server auth',
        'signing',
        'timestamping',
      ),
    ),
    'What the key in the certificate may be used for.',
  ),
  username: opt(2, string(), 'Who made the request; set by the server.'),
  uid: opt(3, string(), 'The uid of who made the request; set by the server.'),
  groups: opt(4, list(string()), 'The groups of who made the request; set by the server.'),
  extra: opt(6, map(list(string(), { typeUndocumented: true })), 'What else is known of who made the request; set by the server.'),
});

const condition = struct('api.certificates.v1.CertificateSigningRequestCondition', 'One aspect of the state of a request.', {
  type: always(1, string(), 'Name of the aspect: `Approved`, `Denied`, `Failed`, or one of a signer.'),
  status: always(6, string(), '`True`, `False` or `Unknown`; for the three known types only `True`.'),
  reason: opt(2, string(), 'Machine-readable reason.'),
  message: opt(3, string(), 'The reason in words.'),
  lastUpdateTime: always(4, time(), 'When the condition was last updated.'),
  lastTransitionTime: always(5, time(), 'When the status last changed.'),
});

const status = struct('api.certificates.v1.CertificateSigningRequestStatus', 'What was decided on a request, and the certificate.', {
  conditions: opt(1, mergeList('type', condition, { duplicatesAllowed: true }), 'Whether the request was approved, denied, or could not be signed.'),
  certificate: opt(2, bytes(), 'The issued certificate and intermediate ones: PEM blocks with the label `CERTIFICATE`. Never changes once it is set.'),
});

/** CertificateSigningRequest (spec section 2.7). */
export const schema = kindSchema('api.certificates.v1.CertificateSigningRequest', 'Asks a signer for a certificate.', {
  spec: req(2, spec, 'The request; it never changes.', { presence: 'always' }),
  status: always(3, status, 'The decision and the certificate.'),
});
