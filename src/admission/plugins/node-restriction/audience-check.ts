import { asPod } from '../../../kinds/core/pod/pod-schema.ts';
import type { Volume } from '../../../kinds/core/pod/volumes/volume.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { notFound } from '../../../meta/status-error.ts';
import { type NodeWrite, quote, refused } from './node-write.ts';

interface DriverView {
  readonly spec?: { readonly tokenRequests?: readonly { readonly audience?: string }[] };
}
interface ClaimView {
  readonly spec?: { readonly volumeName?: string };
}
interface VolumeView {
  readonly spec?: { readonly csi?: { readonly driver?: string } };
}

/**
 * The token is for whom the pod gives one to: by a projected volume, or by a volume of a storage driver that asks for one (KEP-4412).
 */
export async function checkAudiences(write: NodeWrite, audiences: readonly string[], pod: ApiObject): Promise<void> {
  if (audiences.length > 1) throw refused(write, 'node may only request 0 or 1 audiences');
  const [audience = ''] = audiences;
  const problems: string[] = [];
  for (const volume of asPod(pod).spec?.volumes ?? []) {
    if (isProjected(volume, audience)) return;
    const driver = await driverOf(write, pod, volume);
    const asked = driver.name === '' ? driver : await audiencesOf(write, driver.name);
    if (asked.problem !== undefined) problems.push(asked.problem);
    else if (asked.audiences?.includes(audience)) return;
  }
  const [first] = problems;
  if (first === undefined) throw refused(write, `audience ${quote(audience)} not found in pod spec volume`);
  const distinct = [...new Set(problems)];
  const listed = distinct.length === 1 ? first : `[${distinct.join(', ')}]`;
  throw refused(write, `error validating audience ${quote(audience)}: ${listed}`);
}

const isProjected = ({ projected }: Volume, audience: string): boolean =>
  (projected?.sources ?? []).some(
    ({ serviceAccountToken }) => serviceAccountToken && (serviceAccountToken.audience ?? '') === audience,
  );

interface Driver {
  /** '' if the volume is of no driver. */
  readonly name: string;
  readonly problem?: string;
  readonly audiences?: readonly string[];
}

const problemOf = (resource: string, group: string, name: string): Driver => ({
  name: '',
  problem: notFound({ group, resource }, name).message,
});

async function driverOf({ options }: NodeWrite, pod: ApiObject, volume: Volume): Promise<Driver> {
  const { ephemeral, persistentVolumeClaim, csi } = volume;
  const { name: podName = '', namespace = '' } = pod.metadata;
  const claimName = ephemeral ? `${podName}-${volume.name}` : persistentVolumeClaim?.claimName;
  if (claimName === undefined) return { name: csi?.driver ?? '' };
  const claim = (await options.storage.claim(namespace, claimName)) as ClaimView | undefined;
  if (!claim) return problemOf('persistentvolumeclaim', '', claimName);
  const volumeName = claim.spec?.volumeName ?? '';
  const bound = (await options.storage.volume(volumeName)) as VolumeView | undefined;
  return bound ? { name: bound.spec?.csi?.driver ?? '' } : problemOf('persistentvolume', '', volumeName);
}

async function audiencesOf({ options }: NodeWrite, name: string): Promise<Driver> {
  const driver = (await options.storage.driver(name)) as DriverView | undefined;
  if (!driver) return problemOf('csidriver', options.dialect.group('storage'), name);
  return { name, audiences: (driver.spec?.tokenRequests ?? []).map(({ audience = '' }) => audience) };
}
