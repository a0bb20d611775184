import type { ApiObject } from '../../../meta/api-object.ts';
import { roundUpAmounts } from '../resource-amounts.ts';
import type { Container } from './container/container.ts';
import type { EphemeralContainer } from './container/ephemeral-container.ts';
import { defaultPullPolicy } from './container/image-name.ts';
import { asPod } from './pod-schema.ts';
import type { PodSpec } from './pod-spec.ts';
import type { PodStatus } from './pod-status.ts';
import { type Volume, volumeSources } from './volumes/volume.ts';

/**
 * Sets the defaults of a pod that depend on other fields; constant ones are in the schema. Idempotent.
 */
export function defaultPod(object: ApiObject): void {
  const { spec, status } = asPod(object);
  if (spec) {
    defaultPodSpec(spec);
    defaultRunningSpec(spec);
  }
  if (status) defaultStatus(status);
}

/** Defaults of pods alone: in a template they would tell a writer of a changed field whose value it never sent. */
function defaultRunningSpec(spec: PodSpec): void {
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    requestLimits(container);
    if (spec.hostNetwork) exposePorts(container);
  }
  spec.enableServiceLinks ??= true;
}

/** Defaults of the specs of pods and of pod templates. */
export function defaultPodSpec(spec: PodSpec): void {
  defaultServiceAccount(spec);
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec;
  for (const container of [...containers, ...initContainers, ...ephemeralContainers]) defaultContainer(container);
  roundUpAmounts(spec.overhead);
}

/** Syncs serviceAccountName and its deprecated alias serviceAccount; the former takes precedence. */
function defaultServiceAccount(spec: PodSpec): void {
  const name = spec.serviceAccountName ?? spec.serviceAccount;
  if (name === undefined) return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

function defaultVolume(volume: Volume): void {
  if (volumeSources(volume).length === 0) volume.emptyDir = {};
  if (volume.image) volume.image.pullPolicy ??= defaultPullPolicy(volume.image.reference ?? '');
  const claim = volume.ephemeral?.volumeClaimTemplate?.spec?.resources;
  roundUpAmounts(claim?.limits);
  roundUpAmounts(claim?.requests);
}

function defaultContainer(container: Container | EphemeralContainer): void {
  container.imagePullPolicy ??= defaultPullPolicy(container.image ?? '');
  roundUpAmounts(container.resources?.limits);
  roundUpAmounts(container.resources?.requests);
}

/** A resource with a limit and no request gets the limit as its request. */
function requestLimits({ resources }: Container): void {
  const limits = resources?.limits;
  if (!resources || !limits) return;
  resources.requests = { ...limits, ...resources.requests };
}

/** With host networking, hostPort defaults to containerPort. */
function exposePorts({ ports = [] }: Container): void {
  for (const port of ports) port.hostPort ??= port.containerPort ?? 0;
}

/**
 * Syncs `podIP` and the first of `podIPs`. If they differ, `podIP` takes precedence: its writer does not know `podIPs`.
 */
function defaultStatus(status: PodStatus): void {
  const { podIP } = status;
  const first = status.podIPs?.[0]?.ip;
  if (podIP !== undefined && podIP !== first) status.podIPs = [{ ip: podIP }];
  else if (podIP === undefined && first) status.podIP = first;
}
