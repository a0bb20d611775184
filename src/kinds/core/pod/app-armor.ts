import type { Dialect } from '../../../dialect/dialect.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { Container } from './container/container.ts';
import { asPod } from './pod-schema.ts';

type Profile = NonNullable<NonNullable<Container['securityContext']>['appArmorProfile']>;

/**
 * Writes the AppArmor profiles of a new pod in their former form too, an annotation for each container, and the other way
 * round: node agents of other releases read one of them (KEP-24).
 */
export function syncAppArmor(object: ApiObject, { domain }: Dialect): void {
  const { spec } = asPod(object);
  if (!spec || spec.os?.name === 'windows') return;
  const ofPod = spec.securityContext?.appArmorProfile;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    const key = `container.apparmor.security.beta.${domain}/${container.name}`;
    const annotation = object.metadata.annotations?.[key];
    const profile = container.securityContext?.appArmorProfile;
    if (annotation === undefined) {
      const text = textOf(profile ?? ofPod);
      if (text !== '') object.metadata.annotations = { ...object.metadata.annotations, [key]: text };
    } else if (!profile) {
      const read = profileOf(annotation);
      if (read && !isSame(read, ofPod)) container.securityContext = { ...container.securityContext, appArmorProfile: read };
    }
  }
}

const localPrefix = 'localhost/';

function textOf({ type, localhostProfile }: Partial<Profile> = {}): string {
  switch (type) {
    case 'Unconfined':
      return 'unconfined';
    case 'RuntimeDefault':
      return 'runtime/default';
    case 'Localhost':
      return localhostProfile === undefined ? '' : `${localPrefix}${localhostProfile}`;
    default:
      return '';
  }
}

/** Undefined if the text is no profile, or one that a field may not have. */
function profileOf(text: string): Profile | undefined {
  if (text === 'unconfined') return { type: 'Unconfined' };
  if (text === 'runtime/default') return { type: 'RuntimeDefault' };
  const localhostProfile = text.startsWith(localPrefix) ? text.slice(localPrefix.length) : '';
  return localhostProfile.trim() === '' || localhostProfile !== localhostProfile.trim() ? undefined : { type: 'Localhost', localhostProfile };
}

const isSame = (one: Profile, other: Profile | undefined): boolean => one.type === other?.type && one.localhostProfile === other.localhostProfile;
