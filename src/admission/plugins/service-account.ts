import { type Clock, pause } from '../../base/clock.ts';
import { nameSuffix, type Random } from '../../base/random.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { isMirrorPod } from '../../kinds/core/pod/mirror-pod.ts';
import { asPod, type Pod } from '../../kinds/core/pod/pod-schema.ts';
import type { PodSpec } from '../../kinds/core/pod/pod-spec.ts';
import type { Volume } from '../../kinds/core/pod/volume.ts';
import { asServiceAccount, type ServiceAccount } from '../../kinds/core/service-account.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import { limitEphemeralSecrets, limitSecrets, refersToSecrets } from './mountable-secrets.ts';

interface ServiceAccountOptions {
  /** Not older than any write acknowledged before the call, where it is undefined. */
  readonly account: (namespace: string, name: string) => Promise<ApiObject | undefined> | ApiObject | undefined;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: Random;
}

/** The account of pods that name none; a controller makes one in every namespace. */
const defaultAccount = 'default';
/** How often, and after which pauses, a default account is looked for that may just be being made. */
const defaultAccountAttempts = 10;
const defaultAccountPauseMs = 100;
/**
 * Seconds that mounted tokens are valid: an hour, and a few seconds by which such tokens can be told from those that
 * were asked for an hour (KEP-1205).
 */
const tokenSeconds = 3607;
const tokenVolumeMode = 0o644;

/** Pods run as a service account of their namespace, whose token their containers find in a file (KEP-1205). */
export function serviceAccount(options: ServiceAccountOptions): AdmissionPlugin {
  return {
    name: 'ServiceAccount',
    sideEffects: 'none',
    concerns: (attributes) => isCreation(attributes) || isEphemeral(attributes),
    async mutate(attributes) {
      const { object } = attributes;
      if (!object || !isCreation(attributes) || isMirrorPod(object, options.dialect)) return;
      await mutatePod(attributes, asPod(object), options);
    },
    async validate(attributes) {
      const { object } = attributes;
      if (!object) return;
      if (isMirrorPod(object, options.dialect) && isCreation(attributes)) refuseInMirror(attributes, asPod(object));
      else await limitToAccount(attributes, asPod(object), options);
    },
  };
}

const isPod = ({ info: { group, resource } }: AdmissionAttributes): boolean => group === '' && resource === 'pods';

const isCreation = (attributes: AdmissionAttributes): boolean =>
  isPod(attributes) && attributes.operation === 'create' && attributes.info.subresource === '';

const isEphemeral = (attributes: AdmissionAttributes): boolean =>
  isPod(attributes) && attributes.operation === 'update' && attributes.info.subresource === 'ephemeralcontainers';

async function mutatePod(attributes: AdmissionAttributes, pod: Pod, options: ServiceAccountOptions): Promise<void> {
  const { spec } = pod;
  if (!spec) return;
  const name = spec.serviceAccountName || defaultAccount;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
  const account = await requireAccount(attributes, name, options);
  if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(spec, options);
  const pullSecrets = account.imagePullSecrets ?? [];
  if ((spec.imagePullSecrets ?? []).length === 0 && pullSecrets.length > 0) {
    spec.imagePullSecrets = pullSecrets.map(({ name = '' }) => ({ name }));
  }
}

async function requireAccount(
  attributes: AdmissionAttributes,
  name: string,
  { account, clock }: ServiceAccountOptions,
): Promise<ServiceAccount> {
  const { namespace } = attributes.info;
  const attempts = name === defaultAccount ? defaultAccountAttempts : 1;
  for (let attempt = 1; ; attempt++) {
    const found = await account(namespace, name);
    if (found) return asServiceAccount(found);
    if (attempt === attempts) {
      throw admissionForbidden(
        attributes,
        `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`,
      );
    }
    await pause(clock, defaultAccountPauseMs);
  }
}

/** Every container that has nothing at that path yet gets the volume with the token; nothing is added for none. */
function mountToken(spec: PodSpec, { dialect, random }: ServiceAccountOptions): void {
  const mountPath = `/var/run/secrets/${dialect.domain}/serviceaccount`;
  const prefix = `${dialect.tokenVolume}-`;
  const existing = spec.volumes?.find(({ name }) => name.startsWith(prefix));
  const name = existing?.name ?? `${prefix}${nameSuffix(random)}`;
  let mounted = false;
  // Admission comes before validation: what is required may still be missing.
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    if (container.volumeMounts?.some((mount) => mount.mountPath === mountPath)) continue;
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }];
    mounted = true;
  }
  if (mounted && !existing) spec.volumes = [...(spec.volumes ?? []), tokenVolume(name, dialect)];
}

const tokenVolume = (name: string, { rootCaConfigMap }: Dialect): Volume => ({
  name,
  projected: {
    sources: [
      { serviceAccountToken: { expirationSeconds: tokenSeconds, path: 'token' } },
      { configMap: { name: rootCaConfigMap, items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
    defaultMode: tokenVolumeMode,
  },
});

function refuseInMirror(attributes: AdmissionAttributes, { spec }: Pod): void {
  const refuse = (what: string) => {
    throw admissionForbidden(attributes, `a mirror pod may not ${what}`);
  };
  if (!spec) return;
  if (spec.serviceAccountName) refuse('reference service accounts');
  if (refersToSecrets(spec)) refuse('reference secrets');
  const projections = (spec.volumes ?? []).flatMap(({ projected }) => projected?.sources ?? []);
  if (projections.some((source) => source.serviceAccountToken)) {
    refuse('use service account token volume projections');
  }
}

/** The account must be there; one that says so limits which secrets its pods may use. */
async function limitToAccount(
  attributes: AdmissionAttributes,
  { spec }: Pod,
  options: ServiceAccountOptions,
): Promise<void> {
  const { info, name } = attributes;
  if (!spec?.serviceAccountName) {
    throw admissionForbidden(attributes, `no service account specified for pod ${info.namespace}/${name}`);
  }
  const account = await requireAccount(attributes, spec.serviceAccountName, options);
  if (!enforcesSecrets(account, options.dialect)) return;
  const refused = isEphemeral(attributes) ? limitEphemeralSecrets(spec, account) : limitSecrets(spec, account);
  if (refused !== undefined) throw admissionForbidden(attributes, refused);
}

/** The annotation's values are those that Go's `strconv.ParseBool` takes for true. */
const enforcesSecrets = ({ metadata }: ServiceAccount, { domain }: Dialect): boolean =>
  /^(1|t|T|true|True|TRUE)$/.test(metadata?.annotations?.[`${domain}/enforce-mountable-secrets`] ?? '');
