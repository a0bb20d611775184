import { signerNames } from '../../../dialect/signer-names.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { nodeUserName } from '../../../request/node-user.ts';
import { type NodeWrite, refused } from './node-write.ts';

type RequestView = ApiObject & { readonly spec?: { readonly signerName?: string; readonly request?: string } };

/** A kubelet may request node certificates only in its own name. The rest is checked by the signer. */
export async function checkCertificateRequest(write: NodeWrite): Promise<void> {
  const { attributes, node, operation, options } = write;
  if (!options.checksRequestedNames || operation !== 'create' || attributes.info.subresource !== '') return;
  const { signerName, request = '' } = (attributes.object as RequestView | undefined)?.spec ?? {};
  const { nodeClient, nodeServing } = signerNames(options.dialect);
  if (signerName !== nodeClient && signerName !== nodeServing) return;
  const wanted = nodeUserName(node);
  if ((await readName(write, request)) !== wanted) {
    throw refused(write, `can only create a node CSR with CN=${wanted}`);
  }
}

async function readName(write: NodeWrite, request: string): Promise<string> {
  try {
    return await write.options.commonName(request);
  } catch (error) {
    throw refused(write, `unable to parse csr: ${error instanceof Error ? error.message : 'unreadable'}`);
  }
}
