/** A secret reference of a persistent volume. */
interface SecretReference {
  readonly name?: string;
  readonly namespace?: string;
}

interface WithSecret {
  readonly secretRef?: SecretReference;
}

/** The part of a persistent volume's spec that refers to secrets used for mounting. */
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

/** Sources whose secret namespace defaults to the claim's. */
const besideClaim = ['cephfs', 'flexVolume', 'iscsi', 'rbd', 'scaleIO'] as const;
/** Sources whose secret reference always names the namespace. */
const elsewhere = ['cinder', 'storageos'] as const;

/** The secrets that a kubelet needs to mount a volume. Those used only by controllers are left out. */
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
