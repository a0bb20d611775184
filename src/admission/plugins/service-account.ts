import { nameSuffix, type Random } from '../../base/random.ts';
import { type Clock, pause } from '../../base/time/clock.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { isMirrorPod } from '../../kinds/core/pod/mirror-pod.ts';
import { asPod, type Pod } from '../../kinds/core/pod/pod-schema.ts';
import type { PodSpec } from '../../kinds/core/pod/pod-spec.ts';
import type { Volume } from '../../kinds/core/pod/volumes/volume.ts';
import { asServiceAccount, type ServiceAccount } from '../../kinds/core/service-account.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import { limitEphemeralSecrets, limitSecrets, refersToSecrets } from './mountable-secrets.ts';

interface ServiceAccountOptions {
  /** If undefined, the result reflects all writes acknowledged before the call. */
  readonly account: (namespace: string, name: string) => Promise<ApiObject | undefined> | ApiObject | undefined;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly random: Random;
}

/** The default service account; a controller creates it in every namespace. */
const defaultAccount = 'default';
/** Retries for a default account that is not created yet, and the pause between them. */
const defaultAccountAttempts = 10;
const defaultAccountPauseMs = 100;
/**
 * Expiration of mounted tokens in seconds. The extra 7 seconds distinguish them from tokens requested for an hour
 * (KEP-1205).
 */
const tokenSeconds = 3607;
const tokenVolumeMode = 0o644;

/** Assigns pods a service account of their namespace and mounts its token in their containers (KEP-1205). */
export function serviceAccount(options: ServiceAccountOptions): AdmissionPlugin {
  return {
    name: 'ServiceAccount',
    sideEffects: 'none',
    concerns: (attributes) => isCreation(attributes) || isEphemeral(attributes),
    async mutate(attributes) {
      const { object } = attributes;
      if (!object || !isCreation(attributes)) return;
      // Before NodeRestriction has its say about the same pod.
      if (isMirrorPod(object, options.dialect)) refuseInMirror(attributes, asPod(object));
      else await mutatePod(attributes, asPod(object), options);
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

/**
 * Mounts the token volume in every container that mounts nothing at that path. Adds no volume if no container needs it.
 */
function mountToken(spec: PodSpec, { dialect, random }: ServiceAccountOptions): void {
  const mountPath = `/var/run/secrets/${dialect.domain}/serviceaccount`;
  const prefix = `${dialect.tokenVolume}-`;
  const existing = spec.volumes?.find(({ name }) => name.startsWith(prefix));
  const name = existing?.name ?? `${prefix}${nameSuffix(random)}`;
  let mounted = false;
  // Admission runs before validation, so required fields may be missing.
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

/** The account must exist, and may restrict which secrets its pods use. */
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

/** The values that Go's `strconv.ParseBool` parses as true. */
const enforcesSecrets = ({ metadata }: ServiceAccount, { domain }: Dialect): boolean =>
  /^(1|t|T|true|True|TRUE)$/.test(metadata?.annotations?.[`${domain}/enforce-mountable-secrets`] ?? '');
