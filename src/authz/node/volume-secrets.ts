/** A secret as a persistent volume names it. */
interface SecretReference {
  readonly name?: string;
  readonly namespace?: string;
}

interface WithSecret {
  readonly secretRef?: SecretReference;
}

/** The part of a persistent volume's spec that says which secrets it is mounted with. */
export interface VolumeView {
  readonly claimRef?: SecretReference;
  readonly azureFile?: { readonly secretName?: string; readonly secretNamespace?: string };
  readonly cephfs?: WithSecret;
  readonly cinder?: WithSecret;
  readonly flexVolume?: WithSecret;
  readonly iscsi?: WithSecret;
  readonly rbd?: WithSecret;
  readonly scaleIO?: WithSecret;
  readonly storageos?: WithSecret;
  readonly csi?: {
    readonly nodeExpandSecretRef?: SecretReference;
    readonly nodePublishSecretRef?: SecretReference;
    readonly nodeStageSecretRef?: SecretReference;
  };
}

interface NamedSecret {
  readonly namespace: string;
  readonly name: string;
}

/** Sources whose secret is of the claim's namespace unless they say otherwise. */
const besideClaim = ['cephfs', 'flexVolume', 'iscsi', 'rbd', 'scaleIO'] as const;
/** Sources that always say it. */
const elsewhere = ['cinder', 'storageos'] as const;

/** The secrets that a node's agent needs to mount a volume. Those that only controllers use are left out. */
export function volumeSecrets(spec: VolumeView): readonly NamedSecret[] {
  const { azureFile, csi } = spec;
  const claimNamespace = spec.claimRef?.namespace ?? '';
  const references: SecretReference[] = [
    { name: azureFile?.secretName ?? '', namespace: azureFile?.secretNamespace || claimNamespace },
    ...besideClaim.map((source) => ({
      name: spec[source]?.secretRef?.name ?? '',
      namespace: spec[source]?.secretRef?.namespace || claimNamespace,
    })),
    ...elsewhere.map((source) => spec[source]?.secretRef ?? {}),
    csi?.nodeExpandSecretRef ?? {},
    csi?.nodePublishSecretRef ?? {},
    csi?.nodeStageSecretRef ?? {},
  ];
  return references.flatMap(({ name = '', namespace = '' }) => (name === '' ? [] : [{ namespace, name }]));
}
