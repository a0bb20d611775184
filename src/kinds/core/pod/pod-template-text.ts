import { type GoForms, goText } from '../../../schema/go-text.ts';
import { ephemeralContainer } from './container/ephemeral-container.ts';
import { podSpec } from './pod-spec.ts';
import { type PodTemplateSpec, podTemplateSpec } from './pod-template-spec.ts';
import { volume } from './volumes/volume.ts';

/** A template as kube-apiserver shows it in errors: as the Go struct of the form in which it validates. */
export const podTemplateText = (template: PodTemplateSpec | undefined): string => goText(podTemplateSpec, template, forms);

/** Fields of a pod that stand in its security context, or only in served versions. */
const elsewhere = new Set(['serviceAccount', 'hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace', 'hostUsers']);

const podOrder = moved(
  Object.keys(podSpec.fields).filter((name) => !elsewhere.has(name)),
  { setHostnameAsFQDN: 'subdomain', preemptionPolicy: 'priority', enableServiceLinks: 'overhead' },
);

const containerTypes = { restartPolicy: 'core.ContainerRestartPolicy' };

const forms: GoForms = {
  'api.core.v1.PodSpec': { order: podOrder, types: { preemptionPolicy: 'core.PreemptionPolicy' } },
  'api.core.v1.Volume': {
    order: moved(Object.keys(volume.fields), { quobyte: 'rbd' }),
    names: { cephfs: 'CephFS', storageos: 'StorageOS' },
    embedded: { type: 'VolumeSource', beside: 'first' },
  },
  'api.core.v1.Container': { types: containerTypes },
  'api.core.v1.EphemeralContainer': {
    order: moved(Object.keys(ephemeralContainer.fields), {}),
    types: containerTypes,
    embedded: { type: 'EphemeralContainerCommon', beside: 'last' },
  },
  'api.core.v1.VolumeMount': {
    types: { recursiveReadOnly: 'core.RecursiveReadOnlyMode', mountPropagation: 'core.MountPropagationMode' },
  },
  'api.core.v1.TopologySpreadConstraint': {
    types: { nodeAffinityPolicy: 'core.NodeInclusionPolicy', nodeTaintsPolicy: 'core.NodeInclusionPolicy' },
  },
  'apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry': { types: { fieldsV1: 'v1.FieldsV1' } },
};

/** Names with some of them moved: each of `after` comes to stand behind the name that it gives. */
function moved(names: readonly string[], after: Readonly<Record<string, string>>): readonly string[] {
  const behind = Object.entries(after);
  return names.filter((name) => !Object.hasOwn(after, name)).flatMap((name) => [name, ...behind.filter(([, before]) => before === name).map(([each]) => each)]);
}
