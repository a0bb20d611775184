import type { Closable } from '../../base/disposable.ts';
import { signerNames } from '../../dialect/signer-names.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { readCertificateRequest } from '../../pki/certificate-request.ts';
import { issueRequested, UnissuableRequestError } from '../../pki/issue-requested.ts';
import { certificateToPem } from '../../pki/pem.ts';
import type { CertificateSigner, CertificateSigning } from '../certificate-signing.ts';
import type { ControllerContext } from '../controller.ts';
import { type Decision, followRequests, warn } from './follow-requests.ts';
import { signerRules } from './signer-rules.ts';
import { certificateOf, conditionOf, specOf, withCertificate, withCondition } from './signing-request.ts';

/**
 * Signs approved certificate signing requests of the well-known signers (spec section 2.7), as the
 * certificatesigningrequest-signing-controller of kube-controller-manager does. A request that breaks the rules of its
 * signer gets the condition Failed; one that cannot be signed for another reason is tried again. Nothing is signed twice:
 * of two certificates for a request the second is a conflict.
 */
export function startCertificateSigning(context: ControllerContext): Closable {
  const { certificateSigning, logger } = context;
  if (certificateSigning) return new Signers(context, certificateSigning);
  logger.info('certificates are not signed: there is no authority to sign with');
  return { close() {} };
}

/** Shortest lifetime that is issued, however short a request asks for. Milliseconds. */
const lifetimeMsMin = 600_000;

class Signers implements Closable {
  readonly #context: ControllerContext;
  readonly #signing: CertificateSigning;
  /** Those that have an authority, by the name that requests use. */
  readonly #signers: ReadonlyMap<string, CertificateSigner>;
  /** What keeps each signer from signing, as last logged. */
  readonly #problems = new Map<CertificateSigner, string>();
  readonly #following: Closable;

  constructor(context: ControllerContext, signing: CertificateSigning) {
    this.#context = context;
    this.#signing = signing;
    const names = signerNames(context.dialect);
    const signers = (Object.keys(signerRules) as CertificateSigner[]).map((signer) => [names[signer], signer] as const);
    for (const [name, signer] of signers) {
      if (!signing.authorities[signer])
        context.logger.info('a signer has no authority and signs nothing', { signer: name });
    }
    this.#signers = new Map(signers.filter(([, signer]) => signing.authorities[signer]));
    this.#following = followRequests(context, {
      wanted: (request) => this.#isToBeSigned(request),
      decide: (request) => this.#decide(request),
    });
  }

  #isToBeSigned(request: ApiObject): boolean {
    const isDecided = conditionOf(request, 'Denied') ?? conditionOf(request, 'Failed');
    return (
      this.#signers.has(specOf(request).signerName ?? '') &&
      conditionOf(request, 'Approved') !== undefined &&
      !isDecided &&
      certificateOf(request) === ''
    );
  }

  async #decide(request: ApiObject): Promise<Decision> {
    const { signerName = '', request: pem = '', usages = [] } = specOf(request);
    const signer = this.#signers.get(signerName);
    const authority = signer && this.#signing.authorities[signer]?.();
    if (!signer || !authority) return { type: 'nothing' };
    try {
      const asked = await readCertificateRequest(Buffer.from(pem, 'base64'));
      const problem = signerRules[signer](asked, usages);
      if (problem !== undefined) return this.#refuse(request, problem);
      const issued = await issueRequested(
        authority,
        asked,
        { usages, lifetimeMs: this.#lifetimeMs(request) },
        this.#context,
      );
      this.#problems.delete(signer);
      return { type: 'write', subresource: 'status', request: withCertificate(request, certificateToPem(issued)) };
    } catch (error) {
      if (error instanceof UnissuableRequestError) return this.#refuse(request, error.message);
      this.#report(signer, request, error);
      throw error;
    }
  }

  /** Logged once for each problem of a signer: all of its requests have the same one. */
  #report(signer: CertificateSigner, request: ApiObject, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    warn(this.#context, request, { reason: 'SigningFailed', message });
    if (this.#problems.get(signer) === String(error)) return;
    this.#problems.set(signer, String(error));
    const fields = { signer: specOf(request).signerName, request: request.metadata.name, error };
    this.#context.logger.error('certificates cannot be signed; it is tried again', fields);
  }

  #refuse(request: ApiObject, message: string): Decision {
    const fields = { signer: specOf(request).signerName, request: request.metadata.name, message };
    this.#context.logger.info('a certificate request breaks the rules of its signer', fields);
    const warning = { reason: 'SignerValidationFailure', message };
    const failed = withCondition(request, { type: 'Failed', status: 'True', ...warning });
    return { type: 'write', subresource: 'status', request: failed, warning };
  }

  #lifetimeMs(request: ApiObject): number {
    const { expirationSeconds } = specOf(request);
    const { lifetimeMsMax } = this.#signing;
    if (expirationSeconds === undefined) return lifetimeMsMax;
    return Math.min(lifetimeMsMax, Math.max(lifetimeMsMin, expirationSeconds * 1000));
  }

  close(): void {
    this.#following.close();
  }
}
