import { profileAnnotations } from '../../../dialect/profile-annotations.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import type { StrategyContext } from '../../kind.ts';
import type { Container } from './container/container.ts';
import { asPod } from './pod-schema.ts';

/** What is said of such an annotation without a field. */
export const formerAppArmor = 'deprecated since v1.30; use the "appArmorProfile" field instead';

type Profile = NonNullable<NonNullable<Container['securityContext']>['appArmorProfile']>;

/**
 * Writes the AppArmor profiles of a new pod in their former form too, an annotation for each container, and the other way
 * round: node agents of other releases read one of them (KEP-24).
 */
export function syncAppArmor(object: ApiObject, { dialect, warn }: Pick<StrategyContext, 'dialect' | 'warn'>): void {
  const { spec } = asPod(object);
  if (!spec || spec.os?.name === 'windows') return;
  const { appArmorOf } = profileAnnotations(dialect);
  const ofPod = spec.securityContext?.appArmorProfile;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    const key = appArmorOf(container.name);
    const annotation = object.metadata.annotations?.[key];
    const profile = container.securityContext?.appArmorProfile;
    if (annotation === undefined) {
      const text = textOf(profile ?? ofPod);
      if (text !== '') object.metadata.annotations = { ...object.metadata.annotations, [key]: text };
    } else if (!profile) {
      const read = profileOf(annotation);
      if (read && isSame(read, ofPod)) continue;
      if (read) container.securityContext = { ...container.securityContext, appArmorProfile: read };
      warn?.(`metadata.annotations[${key}]: ${formerAppArmor}`);
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

const isSame = (one: Profile, other: Profile | undefined): boolean => one.type === other?.type && one.localhostProfile === other?.localhostProfile;
