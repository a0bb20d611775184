import type { Closable } from '../../base/disposable.ts';
import { resourcePath } from '../../client/resource-path.ts';
import { components } from '../../dialect/components.ts';
import { signerNames } from '../../dialect/signer-names.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { type CertificateRequest, readCertificateRequest } from '../../pki/certificate-request.ts';
import type { ControllerContext } from '../controller.ts';
import { type Decision, followRequests, warn } from './follow-requests.ts';
import { signerRules } from './signer-rules.ts';
import { certificateOf, conditionOf, specOf, withCondition } from './signing-request.ts';

/**
 * Approves requests of node agents for client certificates, if their sender may create the subresource `selfnodeclient`
 * (for the name that it has) or `nodeclient` (for any node) of certificate signing requests, as the
 * certificatesigningrequest-approving-controller of kube-controller-manager does.
 */
export const startCertificateApproving = (context: ControllerContext): Closable => {
  const approver = new Approver(context);
  return followRequests(context, {
    wanted: (request) => approver.isOpen(request),
    decide: (request, signal) => approver.decide(request, signal),
  });
};

/** Pauses before somebody is asked again who was not permitted: half of the age of the request, within these bounds. */
const pauses = { minMs: 1_000, maxMs: 10 * 60_000 } as const;

interface Permission {
  readonly subresource: 'selfnodeclient' | 'nodeclient';
  /** Message of the condition. */
  readonly message: string;
}

class Approver {
  readonly #context: ControllerContext;
  readonly #signerName: string;
  readonly #self: Permission;
  readonly #any: Permission;

  constructor(context: ControllerContext) {
    const { nodeAgent } = components(context.dialect);
    this.#context = context;
    this.#signerName = signerNames(context.dialect).nodeClient;
    this.#self = {
      subresource: 'selfnodeclient',
      message: `Auto approving self ${nodeAgent} client certificate after SubjectAccessReview.`,
    };
    this.#any = {
      subresource: 'nodeclient',
      message: `Auto approving ${nodeAgent} client certificate after SubjectAccessReview.`,
    };
  }

  isOpen(request: ApiObject): boolean {
    return (
      specOf(request).signerName === this.#signerName &&
      certificateOf(request) === '' &&
      !(conditionOf(request, 'Approved') ?? conditionOf(request, 'Denied'))
    );
  }

  async decide(request: ApiObject, signal: AbortSignal): Promise<Decision> {
    const { request: pem = '', usages = [], username = '' } = specOf(request);
    const asked = await readCertificateRequest(Buffer.from(pem, 'base64'));
    // Others than node agents' may be approved by somebody else.
    if (signerRules.nodeClient(asked, usages) !== undefined) return { type: 'nothing' };
    const permissions = this.#permissionsFor(asked, username);
    for (const permission of permissions) {
      if (await this.#isPermitted(request, permission, signal)) return approve(request, permission);
    }
    const needed = permissions.map(({ subresource }) => `certificatesigningrequests/${subresource}`).join(' or ');
    warn(this.#context, request, {
      reason: 'ApprovalNotPermitted',
      message: `${JSON.stringify(username)} may not create ${needed}: the request waits for somebody to approve it`,
    });
    return { type: 'later', delayMs: this.#pauseMs(request) };
  }

  #permissionsFor({ commonNames: [name] }: CertificateRequest, username: string): readonly Permission[] {
    return name === username ? [this.#self, this.#any] : [this.#any];
  }

  async #isPermitted(request: ApiObject, { subresource }: Permission, signal: AbortSignal): Promise<boolean> {
    const { client, dialect } = this.#context;
    const apiVersion = `${dialect.group('authorization')}/v1`;
    const { username: user = '', uid = '', groups = [], extra = {} } = specOf(request);
    const resource = { group: dialect.group('certificates'), version: '*', resource: 'certificatesigningrequests' };
    const resourceAttributes = { ...resource, subresource, verb: 'create' };
    const review = { apiVersion, kind: 'SubjectAccessReview', spec: { user, uid, groups, extra, resourceAttributes } };
    const path = resourcePath({ apiVersion, resource: 'subjectaccessreviews' });
    const { status } = await client.create<{ readonly status?: { readonly allowed?: boolean } }>(path, review, signal);
    return status?.allowed === true;
  }

  /** Roles may be granted after the request was made. */
  #pauseMs({ metadata: { creationTimestamp = '' } }: ApiObject): number {
    const ageMs = this.#context.clock.now() - Date.parse(creationTimestamp);
    return Math.min(pauses.maxMs, Math.max(pauses.minMs, ageMs / 2 || 0));
  }
}

const approve = (request: ApiObject, { message }: Permission): Decision => ({
  type: 'write',
  subresource: 'approval',
  request: withCondition(request, { type: 'Approved', status: 'True', reason: 'AutoApproved', message }),
});
