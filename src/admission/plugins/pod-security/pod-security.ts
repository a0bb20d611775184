import { isDeepStrictEqual } from 'node:util';
import type { Dialect } from '../../../dialect/dialect.ts';
import { asPod, type Pod } from '../../../kinds/core/pod/pod-schema.ts';
import type { ApiObject } from '../../../meta/api-object.ts';
import { describeFieldError, type FieldError } from '../../../meta/field-error.ts';
import { forbiddenObject, internalFailure, invalidObject } from '../../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../../request/admission.ts';
import type { AdmissionPlugin } from '../../chain.ts';
import { detailText, evaluatePod } from './evaluate-pod.ts';
import type { ExistingPodsQuestion } from './existing-pods.ts';
import {
  isEquivalent,
  isPrivileged,
  isSameLevel,
  isStricter,
  type LevelVersion,
  levelText,
  type PodSecurityPolicy,
  type PolicyMode,
  podSecurityPrefix,
  policyOfLabels,
  type ReadPolicy,
  writtenModes,
} from './level-version.ts';
import type { CheckedPod, PodFinding } from './pod-check.ts';
import type { PodSecurityConfiguration } from './pod-security-configuration.ts';
import type { PodSecurityOutcome } from './pod-security-metrics.ts';
import { PodTemplates } from './pod-templates.ts';

/** What the plugin needs of the server. */
interface PodSecurityParts {
  readonly dialect: Dialect;
  readonly configuration: PodSecurityConfiguration;
  /** Includes all writes acknowledged before the call. */
  readonly namespace: (name: string) => ApiObject | undefined | Promise<ApiObject | undefined>;
  readonly existingPodWarnings: (question: ExistingPodsQuestion) => readonly string[] | Promise<readonly string[]>;
  readonly observed: (outcome: PodSecurityOutcome) => void;
}

/**
 * Pod Security admission (KEP-2579): labels of a namespace name the levels of the Pod Security Standards that its pods are
 * held to. Pods that violate the enforced level are refused; workloads that make pods are only warned of and audited.
 */
export function podSecurity(parts: PodSecurityParts): AdmissionPlugin {
  const judge = new Judge(parts);
  return {
    name: 'PodSecurity',
    sideEffects: 'none',
    concerns: ({ operation, info }) => (operation === 'create' || operation === 'update') && judge.isAbout(info),
    validate(attributes) {
      const { object } = attributes;
      if (!object) return;
      if (isNamespaces(attributes.info)) return judge.namespace(attributes, object);
      return judge.pod(attributes, object);
    },
  };
}

type Info = AdmissionAttributes['info'];

const isNamespaces = ({ group, resource }: Info): boolean => group === '' && resource === 'namespaces';
const isPods = ({ group, resource }: Info): boolean => group === '' && resource === 'pods';

/** Others write the specification of a pod. */
const ignoredSubresources: ReadonlySet<string> = new Set([
  'attach',
  'binding',
  'eviction',
  'exec',
  'log',
  'portforward',
  'proxy',
  'status',
]);

class Judge {
  readonly #parts: PodSecurityParts;
  readonly #prefix: string;
  readonly #templates: PodTemplates;

  constructor(parts: PodSecurityParts) {
    this.#parts = parts;
    this.#prefix = podSecurityPrefix(parts.dialect);
    this.#templates = new PodTemplates(parts.dialect);
  }

  isAbout(info: Info): boolean {
    if (isPods(info)) return !ignoredSubresources.has(info.subresource);
    return info.subresource === '' && (isNamespaces(info) || this.#templates.has(info));
  }

  #policyOf({ metadata }: ApiObject) {
    const { defaults } = this.#parts.configuration;
    return policyOfLabels(metadata.labels ?? {}, { prefix: this.#prefix, defaults });
  }

  async namespace(attributes: AdmissionAttributes, object: ApiObject): Promise<void> {
    const { policy, errors } = this.#policyOf(object);
    const before = attributes.old && this.#policyOf(attributes.old);
    if (errors.length > 0 && !isDeepStrictEqual(errors, before?.errors)) {
      throw invalidObject(attributes.kind, nameOf(attributes), errors);
    }
    if (before && !isTightened(policy.enforce, before.policy.enforce)) return;
    const { exemptions } = this.#parts.configuration;
    const name = nameOf(attributes);
    if (exemptions.namespaces.includes(name)) this.#warnOfExemption(attributes, object, policy);
    else if (before) {
      const warnings = await this.#parts.existingPodWarnings({
        ...{ namespace: name, enforce: policy.enforce, exemptRuntimeClasses: exemptions.runtimeClasses },
        domain: this.#parts.dialect.domain,
      });
      for (const warning of warnings) attributes.warn(warning);
    }
  }

  /** Labels of an exempt namespace have no effect. */
  #warnOfExemption(attributes: AdmissionAttributes, { metadata }: ApiObject, policy: PodSecurityPolicy): void {
    if (isPrivileged(policy) || isEquivalent(policy, this.#parts.configuration.defaults)) return;
    const ignored = writtenModes(policy, metadata.labels ?? {}, this.#prefix);
    const title = `namespace ${JSON.stringify(nameOf(attributes))} is exempt from Pod Security`;
    attributes.warn(`${title}, and the policy (${ignored}) will be ignored`);
  }

  /** Judges a pod, or what makes pods. */
  pod(attributes: AdmissionAttributes, object: ApiObject): Promise<void> | void {
    const { usernames, namespaces } = this.#parts.configuration.exemptions;
    const { info, user } = attributes;
    const exempt = namespaces.includes(info.namespace)
      ? 'namespace'
      : usernames.includes(user.username)
        ? 'user'
        : undefined;
    if (exempt !== undefined) {
      this.#exempt(attributes, exempt);
      return;
    }
    const found = this.#parts.namespace(info.namespace);
    if (found instanceof Promise) return found.then((late) => this.#judge(attributes, object, late));
    this.#judge(attributes, object, found);
  }

  #judge(attributes: AdmissionAttributes, object: ApiObject, namespace: ApiObject | undefined): void {
    if (!namespace) this.#namespaceMissing(attributes);
    else this.#judgeBy(this.#policyOf(namespace), attributes, object);
  }

  #judgeBy({ policy, errors }: ReadPolicy, attributes: AdmissionAttributes, object: ApiObject): void {
    const enforces = isPods(attributes.info);
    if (errors.length === 0 && isPrivileged(policy, enforces ? undefined : ['audit', 'warn'])) {
      if (!enforces) return;
      this.#evaluated(attributes, { decision: 'allow', mode: 'enforce', level: policy.enforce });
      this.#annotate(attributes, 'enforce-policy', 'privileged:latest');
      return;
    }
    if (enforces && attributes.old && !isSignificant(asPod(object), asPod(attributes.old))) return;
    const pod = this.#checked(attributes, object);
    if (!pod) return;
    if (this.#parts.configuration.exemptions.runtimeClasses.includes(pod.spec.runtimeClassName ?? '')) {
      this.#exempt(attributes, 'runtimeClass');
      return;
    }
    if (errors.length > 0) {
      this.#annotate(attributes, 'error', `Failed to parse policy: ${errorsText(errors)}`);
      this.#parts.observed({ type: 'error', fatal: false, write: writeOf(attributes) });
    }
    this.#apply(policy, pod, attributes);
  }

  #checked({ info }: AdmissionAttributes, object: ApiObject): CheckedPod | undefined {
    if (!isPods(info)) return this.#templates.of(info, object);
    const { metadata, spec } = asPod(object);
    return { annotations: metadata?.annotations ?? {}, spec: spec ?? {}, domain: this.#parts.dialect.domain };
  }

  #apply(policy: PodSecurityPolicy, pod: CheckedPod, attributes: AdmissionAttributes): void {
    const found = new Map<string, readonly PodFinding[]>();
    const findingsIn = (level: LevelVersion): readonly PodFinding[] => {
      const key = levelText(level);
      const findings = found.get(key) ?? evaluatePod(level, pod);
      found.set(key, findings);
      return findings;
    };
    const violated = (mode: PolicyMode): string | undefined => {
      const level = policy[mode];
      const findings = findingsIn(level);
      if (mode === 'enforce' || findings.length > 0) {
        this.#evaluated(attributes, { decision: findings.length > 0 ? 'deny' : 'allow', mode, level });
      }
      if (findings.length === 0) return undefined;
      return `PodSecurity ${JSON.stringify(levelText(level))}: ${detailText(findings)}`;
    };
    const enforces = isPods(attributes.info);
    if (enforces) this.#annotate(attributes, 'enforce-policy', levelText(policy.enforce));
    const refusal = enforces ? violated('enforce') : undefined;
    const audited = violated('audit');
    if (audited !== undefined) this.#annotate(attributes, 'audit-violations', `would violate ${audited}`);
    if (refusal !== undefined) throw forbiddenObject(attributes.info, nameOf(attributes), `violates ${refusal}`);
    const warned = violated('warn');
    if (warned !== undefined) attributes.warn(`would violate ${warned}`);
  }

  #exempt(attributes: AdmissionAttributes, by: 'namespace' | 'user' | 'runtimeClass'): void {
    this.#parts.observed({ type: 'exemption', write: writeOf(attributes) });
    this.#annotate(attributes, 'exempt', by);
  }

  /** NamespaceLifecycle refuses writes into a missing namespace; without it, pods cannot be judged. */
  #namespaceMissing(attributes: AdmissionAttributes): void {
    const name = JSON.stringify(attributes.info.namespace);
    const problem = `failed to lookup namespace ${name}`;
    const fatal = isPods(attributes.info);
    this.#parts.observed({ type: 'error', fatal, write: writeOf(attributes) });
    const failure = fatal ? internalFailure(problem) : undefined;
    this.#annotate(attributes, 'error', `${failure?.message ?? problem}: namespaces ${name} not found`);
    if (failure) throw failure;
  }

  #evaluated(
    attributes: AdmissionAttributes,
    evaluation: { readonly decision: 'allow' | 'deny'; readonly mode: PolicyMode; readonly level: LevelVersion },
  ): void {
    this.#parts.observed({ type: 'evaluation', write: writeOf(attributes), ...evaluation });
  }

  #annotate(attributes: AdmissionAttributes, name: string, value: string): void {
    attributes.annotate(`${this.#prefix}${name}`, value);
  }
}

const nameOf = ({ name, object }: AdmissionAttributes): string => name || object?.metadata.name || '';

const writeOf = ({ operation, info }: AdmissionAttributes): PodSecurityOutcome['write'] => ({
  operation,
  resource: isPods(info) ? 'pod' : isNamespaces(info) ? 'namespace' : 'controller',
  subresource: info.subresource,
});

/** Whether pods that were admitted may violate what is enforced from now on. */
function isTightened(enforce: LevelVersion, before: LevelVersion): boolean {
  if (enforce.level === 'privileged' || isSameLevel(enforce, before)) return false;
  return enforce.version !== before.version || isStricter(enforce.level, before.level);
}

/** As kube-apiserver shows several errors as one. */
function errorsText(errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map((error) => `${error.field}: ${describeFieldError(error)}`))];
  return texts.length === 1 ? `${texts[0]}` : `[${texts.join(', ')}]`;
}

/** Whether an update changes what a level could forbid: images, or which containers there are. */
function isSignificant({ spec }: Pod, { spec: before }: Pod): boolean {
  for (const list of ['containers', 'initContainers'] as const) {
    const [containers, old] = [spec?.[list] ?? [], before?.[list] ?? []];
    if (containers.length !== old.length) return true;
    if (containers.some(({ image = '' }, at) => image !== (old[at]?.image ?? ''))) return true;
  }
  const old = new Map(before?.ephemeralContainers?.map((each) => [each.name, each]));
  return (spec?.ephemeralContainers ?? []).some(({ name, image = '' }) => {
    const known = old.get(name);
    return !known || image !== (known.image ?? '');
  });
}
