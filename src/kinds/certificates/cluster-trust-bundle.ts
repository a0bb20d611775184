import { getOrAdd } from '../../base/collections/get-or-add.ts';
import { limits } from '../../base/limits.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { errorsOfEach, type FieldError, invalid, tooLong } from '../../meta/field-error.ts';
import { type FormatCheck, isDnsSubdomain } from '../../meta/formats.ts';
import { selectable } from '../../meta/selectable-field.ts';
import type { DecodedPem } from '../../pki/decode-pem.ts';
import { anchorFault } from '../../pki/trust-anchor.ts';
import { always, opt, req, string, struct } from '../../schema/schema.ts';
import { column, nameColumn, none } from '../columns.ts';
import { defineKind } from '../define-kind.ts';
import type { Kind } from '../kind.ts';
import { kindSchema } from '../meta/kind-schema.ts';
import { renamedFields } from '../stored-as.ts';
import { typed } from '../typed.ts';
import { allErrors, type Validation } from '../validation.ts';
import { certificateBlocks, limitMessage } from './certificate-blocks.ts';
import { validateSignerName } from './signer-name.ts';

const schemaOf = (version: string) => {
  const spec = struct(`api.certificates.${version}.ClusterTrustBundleSpec`, 'Trust anchors, and whose they are.', {
    signerName: opt(1, string(), 'Signer whose certificates these anchors verify. Setting it needs the verb attest on that signer, and a name that begins with it.', { immutable: 'always' }),
    trustBundle: always(2, string(), 'PEM blocks of X.509 certificates, each of an authority and none of them twice. Readers may reorder them and drop what is between them.'),
  });
  return kindSchema(`api.certificates.${version}.ClusterTrustBundle`, 'X.509 trust anchors (root certificates) for the whole cluster, on their own or of a signer.', {
    spec: req(2, spec, 'The anchors and their signer.', { presence: 'always' }),
  });
};

const schema = schemaOf('v1alpha1');
const betaSchema = schemaOf('v1beta1');

const trustBundle = 'spec.trustBundle';

const specOf = (object: ApiObject) => {
  const { signerName = '', trustBundle = '' } = typed(schema, object).spec ?? {};
  return { signerName, trustBundle };
};

function validate(object: ApiObject): FieldError[] {
  const { signerName } = specOf(object);
  return [...validateNames(object, signerName), ...(signerName === '' ? [] : validateSignerName(signerName, 'spec.signerName'))];
}

function validateNames({ metadata: { name = '', generateName = '' } }: ApiObject, signerName: string): FieldError[] {
  const check = (field: string, value: string, suffixProblems: FormatCheck): FieldError[] =>
    value === '' ? [] : nameProblems(value, signerName, suffixProblems).map((problem) => invalid(`metadata.${field}`, value, problem));
  return [...check('generateName', generateName, isDnsSubdomainPrefix), ...check('name', name, isDnsSubdomain)];
}

const isDnsSubdomainPrefix: FormatCheck = (value) => isDnsSubdomain(value.length > 1 && value.endsWith('-') ? `${value.slice(0, -1)}a` : value);

/** A signer's bundles are found by their names, so no other bundle may have one like it. */
function nameProblems(name: string, signerName: string, suffixProblems: FormatCheck): readonly string[] {
  if (signerName === '') return name.includes(':') ? ['ClusterTrustBundle without signer name must not have ":" in its name'] : suffixProblems(name);
  const prefix = `${signerName.replaceAll('/', ':')}:`;
  return name.startsWith(prefix) ? suffixProblems(name.slice(prefix.length)) : [`ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`];
}

const faults = {
  notX509: 'does not parse as X.509',
  notAuthority: 'does not have the CA bit set',
  badConstraints: 'has invalid basic constraints',
} as const;

const invalidBundle = (detail: string): FieldError => invalid(trustBundle, '<value omitted>', detail);

const validateAnchors = (pem: string): Promise<readonly FieldError[]> => anchorErrors(pem).catch((error: unknown) => [invalidBundle(limitMessage(error))]);

/** Reads the blocks in slices. Duplicates are reported only if every block is right. Rejects with a PemLimitError. */
async function anchorErrors(pem: string): Promise<readonly FieldError[]> {
  if (Buffer.byteLength(pem) > limits.trustBundleBytesMax) return [tooLong(trustBundle, limits.trustBundleBytesMax)];
  const errors: FieldError[] = [];
  const indices = new Map<string, number[]>();
  let index = 0;
  for await (const block of certificateBlocks(pem)) {
    const problem = blockProblem(block);
    if (problem !== undefined) errors.push(invalidBundle(`entry ${index} ${problem}`));
    if (errors.length === limits.findingsMax) break;
    getOrAdd(indices, block.bytes.toString('latin1'), () => []).push(index);
    index++;
  }
  if (errors.length > 0) return errors;
  if (index === 0) return [invalidBundle('at least one trust anchor must be provided')];
  return errorsOfEach(indices.values(), (same) => (same.length > 1 ? [invalidBundle(`duplicate trust anchor (indices [${same.join(' ')}])`)] : []));
}

function blockProblem({ label, hasHeaders, bytes }: DecodedPem): string | undefined {
  if (label !== 'CERTIFICATE') return `has bad block type: ${label}`;
  if (hasHeaders) return 'has PEM block headers';
  if (bytes.length > limits.certificateBytesMax) return `is larger than ${limits.certificateBytesMax} bytes`;
  const fault = anchorFault(bytes);
  return fault && faults[fault];
}

function validateUpdate(object: ApiObject, old: ApiObject): Validation {
  const { trustBundle } = specOf(object);
  return trustBundle === specOf(old).trustBundle ? validate(object) : allErrors(validate(object), validateAnchors(trustBundle));
}

/**
 * ClusterTrustBundle (spec section 2.8) in its stored version. A bundle that does not change is not read again: what was
 * right once stays so.
 */
export const clusterTrustBundle = (dialect: Dialect): Kind =>
  defineKind({
    group: dialect.group('certificates'),
    version: 'v1alpha1',
    kind: 'ClusterTrustBundle',
    offByDefault: true,
    scope: 'Cluster',
    schema,
    nameFormat: 'pathSegment',
    selectableFields: [selectable('spec.signerName')],
    columns: [nameColumn, column('SignerName', 'Signer whose certificates the anchors verify.', '.spec.signerName', { absent: none })],
    strategy: {
      validateCreate: (object) => allErrors(validate(object), validateAnchors(specOf(object).trustBundle)),
      validateUpdate,
    },
    unconditionalUpdate: false,
  });

/** The same as beta. Stored as alpha: servers of the release before know no other version (spec section 9, rule 4b). */
export function betaClusterTrustBundle(alpha: Kind): Kind {
  const name = { group: alpha.group, version: 'v1beta1', kind: alpha.kind };
  return { ...alpha, ...name, schema: betaSchema, storedAs: renamedFields(alpha, name, {}) };
}
