import { asPod, type Pod } from '../../kinds/core/pod/pod-schema.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import { writesPod } from './concerned-pods.ts';

/**
 * Images are pulled for every pod, so that nobody runs an image that another's credentials brought to the node. An update that
 * brings no new image is left alone.
 */
export const alwaysPullImages = (): AdmissionPlugin => ({
  name: 'AlwaysPullImages',
  sideEffects: 'none',
  concerns: (attributes) => writesPod(attributes) && bringsImages(attributes),
  mutate({ object }) {
    if (!object) return;
    for (const [, container] of containersOf(asPod(object))) container.imagePullPolicy = 'Always';
  },
  validate(attributes) {
    const { object } = attributes;
    if (!object) return;
    const problems = containersOf(asPod(object)).flatMap(([field, { imagePullPolicy = '' }]) =>
      imagePullPolicy === 'Always'
        ? []
        : [
            `${field}.imagePullPolicy: Unsupported value: ${JSON.stringify(imagePullPolicy)}: supported values: "Always"`,
          ],
    );
    if (problems.length === 0) return;
    throw admissionForbidden(attributes, problems.length === 1 ? `${problems[0]}` : `[${problems.join(', ')}]`);
  },
});

/** All containers, with the paths of their fields. */
const containersOf = ({ spec }: Pod) => [
  ...(spec?.initContainers ?? []).map((each, at) => [`spec.initContainers[${at}]`, each] as const),
  ...(spec?.containers ?? []).map((each, at) => [`spec.containers[${at}]`, each] as const),
  ...(spec?.ephemeralContainers ?? []).map((each, at) => [`spec.ephemeralContainers[${at}]`, each] as const),
];

function bringsImages({ object, old }: AdmissionAttributes): boolean {
  if (!object || !old) return true;
  const known = new Set(containersOf(asPod(old)).map(([, { image }]) => image));
  return containersOf(asPod(object)).some(([, { image }]) => !known.has(image));
}
