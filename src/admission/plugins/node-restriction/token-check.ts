import { asPod } from '../../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { notFound } from '../../../meta/status-error.ts';
import { checkAudiences } from './audience-check.ts';
import { type NodeWrite, refused } from './node-write.ts';

/** The fields of a TokenRequest that are checked. */
type TokenRequestView = ApiObject & {
  readonly spec?: {
    readonly audiences?: readonly string[];
    readonly boundObjectRef?: {
      readonly apiVersion?: string;
      readonly kind?: string;
      readonly name?: string;
      readonly uid?: string;
    } | null;
  };
};

/**
 * A kubelet may request tokens only for its own pods and bound to them, so that they expire with the pod. A token is
 * bound to one object only, so it cannot be bound to another node.
 */
export async function checkToken(write: NodeWrite): Promise<void> {
  const { attributes, node, operation, options } = write;
  const { info, object } = attributes;
  if (operation !== 'create' || info.subresource !== 'token') return;
  const { boundObjectRef: bound, audiences = [] } = (object as TokenRequestView | undefined)?.spec ?? {};
  if (bound?.apiVersion !== 'v1' || bound.kind !== 'Pod' || !bound.name) {
    throw refused(write, 'node requested token not bound to a pod');
  }
  if (!bound.uid) throw refused(write, 'node requested token with a pod binding without a uid');
  const pod = await options.pod(info.namespace, bound.name);
  if (!pod) throw notFound({ group: '', resource: 'pod' }, bound.name);
  if (bound.uid !== pod.metadata.uid) {
    throw refused(
      write,
      `the UID in the bound object reference (${bound.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  }
  if (asPod(pod).spec?.nodeName !== node) {
    throw refused(write, 'node requested token bound to a pod scheduled on a different node');
  }
  if (options.checksAudiences) await checkAudiences(write, audiences, pod);
}
