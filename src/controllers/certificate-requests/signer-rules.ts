import type { CertificateRequest } from '../../pki/certificate-request.ts';
import { groupNodes, nodeUserName } from '../../request/node-user.ts';
import type { CertificateSigner } from '../certificate-signing.ts';

/** What a signer requires of a request (spec section 2.7). Returns what is wrong, in the published words. */
type SignerRule = (request: CertificateRequest, usages: readonly string[]) => string | undefined;

const nodeUsers = nodeUserName('');
const nodeClientUsages = ['client auth', 'digital signature', 'key encipherment'];
const nodeServingUsages = ['digital signature', 'key encipherment', 'server auth'];

export const signerRules: Readonly<Record<CertificateSigner, SignerRule>> = {
  client(_request, usages) {
    const other = usages.find((usage) => !nodeClientUsages.includes(usage));
    if (other !== undefined) return `invalid usage for client certificate: ${other}`;
    return usages.includes('client auth') ? undefined : 'missing required usage for client certificate: client auth';
  },

  nodeClient: (request, usages) =>
    organizationProblem(request) ??
    (request.dnsNames.length > 0 ? 'DNS subjectAltNames are not allowed' : undefined) ??
    (request.emailAddresses.length > 0 ? 'Email subjectAltNames are not allowed' : undefined) ??
    (request.ipAddresses.length > 0 ? 'IP subjectAltNames are not allowed' : undefined) ??
    (request.uris.length > 0 ? 'URI subjectAltNames are not allowed' : undefined) ??
    commonNameProblem(request) ??
    usagesProblem(usages, nodeClientUsages),

  nodeServing: (request, usages) =>
    organizationProblem(request) ??
    (request.dnsNames.length + request.ipAddresses.length === 0 ? 'DNS or IP subjectAltName is required' : undefined) ??
    (request.emailAddresses.length > 0 ? 'Email subjectAltNames are not allowed' : undefined) ??
    (request.uris.length > 0 ? 'URI subjectAltNames are not allowed' : undefined) ??
    usagesProblem(usages, nodeServingUsages) ??
    commonNameProblem(request),
};

const organizationProblem = ({ organizations }: CertificateRequest): string | undefined =>
  organizations.length === 1 && organizations[0] === groupNodes
    ? undefined
    : `subject organization is not ${groupNodes}`;

/** Of several common names readers choose different ones, so there must be one. */
const commonNameProblem = ({ commonNames }: CertificateRequest): string | undefined =>
  commonNames.length === 1 && commonNames[0]?.startsWith(nodeUsers)
    ? undefined
    : `subject common name does not begin with ${nodeUsers}`;

/** Key encipherment is for RSA alone, so both sets are right. */
function usagesProblem(usages: readonly string[], required: readonly string[]): string | undefined {
  const given = new Set(usages);
  const without = required.filter((usage) => usage !== 'key encipherment');
  const isExactly = (set: readonly string[]): boolean =>
    given.size === set.length && set.every((each) => given.has(each));
  return isExactly(required) || isExactly(without) ? undefined : `usages did not match [${required.join(' ')}]`;
}
