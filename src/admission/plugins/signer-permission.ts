import type { Caller } from '../../base/caller.ts';
import type { Decision } from '../../request/access.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { ResourceAttributes } from '../../request/authorization-attributes.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { admissionForbidden } from '../forbidden.ts';

/** What the plugins that guard signers need. */
export interface SignerPlugins {
  /** Full name of the certificates group. */
  readonly group: string;
  /** Decision of the whole authorizer chain. */
  readonly authorize: (attributes: ResourceAttributes, user: UserInfo, request: Caller) => Decision | Promise<Decision>;
}

/** Verbs on the virtual resource `signers`, and what they allow, as messages put it. */
const verbs = {
  approve: 'approve requests with signerName',
  sign: 'sign requests with signerName',
  attest: 'attest for signerName',
} as const;

/**
 * Throws unless the user has the verb on the signer, by its name or as `<domain>/*` (spec sections 2.7 and 2.8). A decision
 * with an error allows nothing.
 */
export async function requireSigner(
  attributes: AdmissionAttributes,
  { group, authorize }: SignerPlugins,
  { verb, signerName }: { readonly verb: keyof typeof verbs; readonly signerName: string },
): Promise<void> {
  const [domain = ''] = signerName.split('/', 1);
  for (const name of [signerName, `${domain}/*`]) {
    const signer = { group, version: '*', resource: 'signers', subresource: '', namespace: '', name } as const;
    const { verdict, evaluationError } = await authorize(
      { type: 'resource', verb, ...signer },
      attributes.user,
      attributes,
    );
    if (verdict === 'allow' && evaluationError === undefined) return;
  }
  throw admissionForbidden(attributes, `user not permitted to ${verbs[verb]} ${JSON.stringify(signerName)}`);
}
