import type { Container } from '../../kinds/core/pod/container/container.ts';
import type { EphemeralContainer } from '../../kinds/core/pod/container/ephemeral-container.ts';
import type { PodSpec } from '../../kinds/core/pod/pod-spec.ts';
import type { Volume } from '../../kinds/core/pod/volumes/volume.ts';
import type { ServiceAccount } from '../../kinds/core/service-account.ts';

type AnyContainer = Container | EphemeralContainer;

const namesOf = (references: readonly { readonly name?: string }[] | undefined): ReadonlySet<string> =>
  new Set((references ?? []).map(({ name = '' }) => name));

/**
 * Returns why a pod may not use a secret that it references: its service account lists the secrets it may use (spec
 * section 2.2). Undefined if there is no problem. As in kube-apiserver, this covers secret volumes, environment
 * variables and image pull secrets, but not secrets of projected volumes and volume drivers.
 */
export function limitSecrets(spec: PodSpec, account: ServiceAccount): string | undefined {
  const allowed = namesOf(account.secrets);
  return (
    volumeProblem(spec.volumes ?? [], allowed, account) ??
    containerProblem('init container', spec.initContainers ?? [], allowed, account) ??
    containerProblem('container', spec.containers ?? [], allowed, account) ??
    pullSecretProblem(spec, account)
  );
}

/** The same for ephemeral containers added to a running pod (CVE-2023-2728), `envFrom` included (CVE-2024-3177). */
export const limitEphemeralSecrets = (spec: PodSpec, account: ServiceAccount): string | undefined =>
  containerProblem('ephemeral container', spec.ephemeralContainers ?? [], namesOf(account.secrets), account);

const unreferenced = ({ metadata }: ServiceAccount, what = 'secret'): string =>
  `is not allowed because service account ${metadata?.name} does not reference that ${what}`;

function volumeProblem(
  volumes: readonly Volume[],
  allowed: ReadonlySet<string>,
  account: ServiceAccount,
): string | undefined {
  const found = volumes.find(({ secret }) => secret && !allowed.has(secret.secretName ?? ''));
  return found && `volume with secret.secretName="${found.secret?.secretName ?? ''}" ${unreferenced(account)}`;
}

function containerProblem(
  what: string,
  containers: readonly AnyContainer[],
  allowed: ReadonlySet<string>,
  account: ServiceAccount,
): string | undefined {
  for (const container of containers) {
    const found = secretsOf(container).find(({ secret }) => !allowed.has(secret));
    if (!found) continue;
    const { by, secret } = found;
    return `${what} ${container.name} with ${by} referencing secret.secretName="${secret}" ${unreferenced(account)}`;
  }
  return undefined;
}

/** The secrets that a container uses in its environment. */
function secretsOf({
  env = [],
  envFrom = [],
}: AnyContainer): readonly { readonly by: string; readonly secret: string }[] {
  return [
    ...env.flatMap(({ name, valueFrom }) =>
      valueFrom?.secretKeyRef ? [{ by: `envVar ${name}`, secret: valueFrom.secretKeyRef.name ?? '' }] : [],
    ),
    ...envFrom.flatMap(({ secretRef }) => (secretRef ? [{ by: 'envFrom', secret: secretRef.name ?? '' }] : [])),
  ];
}

function pullSecretProblem({ imagePullSecrets = [] }: PodSpec, account: ServiceAccount): string | undefined {
  const allowed = namesOf(account.imagePullSecrets);
  const at = imagePullSecrets.findIndex(({ name = '' }) => !allowed.has(name));
  if (at < 0) return undefined;
  const name = imagePullSecrets[at]?.name ?? '';
  return `imagePullSecrets[${at}].name="${name}" ${unreferenced(account, 'imagePullSecret')}`;
}

/** Whether a pod references a secret in any way. */
export function refersToSecrets(spec: PodSpec): boolean {
  const { containers = [], initContainers = [], ephemeralContainers = [], imagePullSecrets = [], volumes = [] } = spec;
  const all: readonly AnyContainer[] = [...containers, ...initContainers, ...ephemeralContainers];
  return (
    imagePullSecrets.length > 0 || volumes.some(volumeRefersToSecret) || all.some((each) => secretsOf(each).length > 0)
  );
}

const volumeRefersToSecret = (volume: Volume): boolean =>
  volume.secret !== undefined ||
  Object.values(volume).some((source) => typeof source === 'object' && source !== null && namesSecret(source)) ||
  (volume.projected?.sources ?? []).some(({ secret }) => secret !== undefined);

/** Volume drivers reference secrets in one of these fields. */
const secretFields = ['secretRef', 'nodePublishSecretRef', 'secretName'];
const namesSecret = (source: object): boolean =>
  secretFields.some((field) => (source as Readonly<Record<string, unknown>>)[field] !== undefined);
