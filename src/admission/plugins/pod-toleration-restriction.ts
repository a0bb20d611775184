import { limits } from '../../base/limits.ts';
import { LongWork } from '../../base/long-work.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import { asPod } from '../../kinds/core/pod/pod-schema.ts';
import type { PodSpec } from '../../kinds/core/pod/pod-spec.ts';
import { qosClass } from '../../kinds/core/pod/qos-class.ts';
import { type Toleration, toleration } from '../../kinds/core/pod/toleration.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import { internalFailure, notFound, StatusError } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import { decode } from '../../schema/decode.ts';
import { list, opt, struct } from '../../schema/schema.ts';
import type { AdmissionPlugin } from '../chain.ts';
import { writesPod } from './concerned-pods.ts';
import { IncludedTolerations, mergedTolerations } from './merged-tolerations.ts';

/** For namespaces that say nothing. Plain data. */
export interface PodTolerations {
  /** What pods tolerate. */
  readonly default: readonly Toleration[];
  /** All that pods may tolerate; empty: anything. */
  readonly allowed: readonly Toleration[];
}

interface PodTolerationRestrictionOptions {
  readonly dialect: Dialect;
  readonly tolerations: PodTolerations;
  /** Others wait for this thread: throws LongWork instead of what takes long. */
  readonly inline: boolean;
  /** Includes all writes acknowledged before the call. */
  readonly namespace: (name: string) => ApiObject | undefined | Promise<ApiObject | undefined>;
}

const written = struct('plugin.Tolerations', 'Tolerations in an annotation.', {
  tolerations: opt(1, list(toleration), 'The tolerations.'),
});

/** Annotations of namespaces say what their pods tolerate by default, and what they may tolerate. */
export function podTolerationRestriction(options: PodTolerationRestrictionOptions): AdmissionPlugin {
  const { dialect, tolerations, inline } = options;
  const read = ({ metadata }: ApiObject, name: string): readonly Toleration[] | undefined => {
    const annotation = `scheduler.alpha.${dialect.domain}/${name}`;
    const text = metadata.annotations?.[annotation];
    if (inline && text !== undefined && text.length > limits.lightBytesMax) throw new LongWork();
    return text === undefined ? undefined : readTolerations(text, annotation);
  };
  const memoryPressure: Toleration = {
    ...{ key: `node.${dialect.domain}/memory-pressure`, operator: 'Exists', effect: 'NoSchedule' },
  };
  const namespaceOf = async ({ info }: AdmissionAttributes): Promise<ApiObject> => {
    const found = await options.namespace(info.namespace);
    if (!found) throw notFound({ group: '', resource: 'namespaces' }, info.namespace);
    return found;
  };

  const addTolerations = (spec: PodSpec, { operation }: AdmissionAttributes, namespace: ApiObject): void => {
    const ofNamespace = read(namespace, 'defaultTolerations') ?? tolerations.default;
    const added = operation === 'create' ? [...ofNamespace] : [];
    if (qosClass(spec) !== 'BestEffort') added.push(memoryPressure);
    if (added.length > 0) spec.tolerations = mergedTolerations(spec.tolerations ?? [], added, { inline });
  };
  const refuseOthers = ({ tolerations: asked = [] }: PodSpec, namespace: ApiObject): void => {
    if (asked.length === 0) return;
    const ofNamespace = read(namespace, 'tolerationsWhitelist');
    const allowed = ofNamespace ?? tolerations.allowed;
    if (allowed.length === 0) return;
    const included = new IncludedTolerations();
    for (const each of allowed) included.add(each);
    if (asked.every((each) => included.includes(each))) return;
    const list = `${ofNamespace ? 'namespace' : 'cluster'} whitelist`;
    const why = `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${list}`;
    // As published, where it is no refusal.
    throw new StatusError('InternalError', why);
  };

  return {
    name: 'PodTolerationRestriction',
    sideEffects: 'none',
    concerns: writesPod,
    async mutate(attributes) {
      const spec = attributes.object && asPod(attributes.object).spec;
      if (!spec) return;
      const namespace = await namespaceOf(attributes);
      addTolerations(spec, attributes, namespace);
      refuseOthers(spec, namespace);
    },
    async validate(attributes) {
      const spec = attributes.object && asPod(attributes.object).spec;
      if (spec) refuseOthers(spec, await namespaceOf(attributes));
    },
  };
}

function readTolerations(text: string, annotation: string): readonly Toleration[] {
  if (text === '') return [];
  const { value, errors } = decode(written, { tolerations: parse(text, annotation) });
  const [problem] = errors;
  if (problem) throw unreadable(annotation, `${problem.path}: expected ${problem.expected}, got ${problem.got}`);
  return value.tolerations ?? [];
}

function parse(text: string, annotation: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable(annotation, 'it is no JSON');
  }
}

const unreadable = (annotation: string, why: string): StatusError =>
  internalFailure(`annotation ${annotation} of the namespace: ${why}`);
