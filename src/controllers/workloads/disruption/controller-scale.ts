import type { ApiClient } from '../../../client/api-client.ts';
import type { SharedInformer } from '../../../client/shared-informers.ts';
import type { ApiObject, OwnerReference } from '../../../meta/api-object.ts';
import { controllerOf } from '../owner.ts';

interface ScaleOptions {
  readonly client: ApiClient;
  readonly signal: AbortSignal;
  /** Copies of collections that have `spec.replicas`, by group and kind: `apps/Deployment`. */
  readonly known: ReadonlyMap<string, SharedInformer>;
  /** The one of replica sets, whose controllers count in their place. */
  readonly replicaSets: SharedInformer;
}

/** Who wants how many pods. */
interface ControllerScale {
  readonly uid: string;
  readonly replicas: number;
}

/** What the controllers of the pods want together, and the pods without one. Throws for a controller that does not say. */
export async function scaleOfControllers(
  pods: readonly ApiObject[],
  options: ScaleOptions,
): Promise<{ readonly scale: number; readonly unmanaged: readonly string[] }> {
  const scales = new Map<string, number>();
  const asked = new Set<string>();
  const unmanaged: string[] = [];
  for (const pod of pods) {
    const { name = '', namespace = '' } = pod.metadata;
    const reference = controllerOf(pod);
    if (!reference) unmanaged.push(name);
    if (!reference || asked.has(reference.uid)) continue;
    asked.add(reference.uid);
    const found = await scaleOf(reference, namespace, options);
    if (!found) throw new Error(`found no controllers for pod ${JSON.stringify(name)}`);
    scales.set(found.uid, found.replicas);
  }
  return { scale: [...scales.values()].reduce((sum, each) => sum + each, 0), unmanaged };
}

async function scaleOf(
  reference: OwnerReference,
  namespace: string,
  options: ScaleOptions,
): Promise<ControllerScale | undefined> {
  const { known, replicaSets } = options;
  const informer = known.get(groupKind(reference));
  const owner = informer?.get(`${namespace}/${reference.name}`);
  if (!informer || owner?.metadata.uid !== reference.uid) {
    return informer ? undefined : askedScale(reference, namespace, options);
  }
  const above = informer === replicaSets ? controllerOf(owner) : undefined;
  const whole = above && known.get(groupKind(above))?.get(`${namespace}/${above.name}`);
  return scaleIn(whole && whole.metadata.uid === above?.uid ? whole : owner);
}

function scaleIn(object: ApiObject): ControllerScale {
  const { replicas = 1 } = (object['spec'] ?? {}) as { readonly replicas?: number };
  return { uid: object.metadata.uid ?? '', replicas };
}

const groupKind = ({ apiVersion, kind }: OwnerReference): string =>
  `${apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''}/${kind}`;

interface Discovered {
  readonly resources?: readonly { readonly name: string; readonly kind: string }[];
}

/** Any other kind is asked by its subresource `scale`. */
async function askedScale(
  { apiVersion, kind, name, uid }: OwnerReference,
  namespace: string,
  { client, signal }: ScaleOptions,
): Promise<ControllerScale | undefined> {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const { resources = [] } = await client.get<Discovered>(root, signal);
  const resource = resources.find((each) => each.kind === kind && !each.name.includes('/'))?.name;
  if (resource === undefined) return undefined;
  if (!resources.some((each) => each.name === `${resource}/scale`)) {
    const [group] = apiVersion.includes('/') ? apiVersion.split('/') : [''];
    throw new Error(`${group === '' ? resource : `${resource}.${group}`} does not implement the scale subresource`);
  }
  const path = `${root}/namespaces/${encodeURIComponent(namespace)}/${resource}/${encodeURIComponent(name)}/scale`;
  const scale = await client.find(path, signal);
  return scale?.metadata.uid === uid ? { ...scaleIn(scale), replicas: replicasIn(scale) } : undefined;
}

/** The replicas of a Scale, which leaves out 0. */
const replicasIn = (scale: ApiObject): number =>
  ((scale['spec'] ?? {}) as { readonly replicas?: number }).replicas ?? 0;
