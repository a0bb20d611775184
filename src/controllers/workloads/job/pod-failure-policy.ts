import type { JobSpec } from '../../../kinds/batch/job-schema.ts';
import type { Pod } from '../../../kinds/core/pod/pod-schema.ts';

type Policy = NonNullable<JobSpec['podFailurePolicy']>;
type Rule = NonNullable<Policy['rules']>[number];
type ExitCodes = NonNullable<Rule['onExitCodes']>;
type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

/** What the failure of a pod means for its job. */
export interface FailureVerdict {
  /** Of the rule that fits. */
  readonly action?: 'FailIndex' | 'Ignore' | 'Count' | 'FailJob';
  /** Whether it counts towards the limits. */
  readonly counts: boolean;
  /** Why the job fails, in the words of kube-controller-manager; only with the action `FailJob`. */
  readonly message?: string;
}

/** The first rule that fits decides. */
export function verdictOf(policy: Policy | undefined, pod: Pod): FailureVerdict {
  for (const [index, rule] of (policy?.rules ?? []).entries()) {
    const why = matchOf(rule, pod);
    if (why === undefined) continue;
    const { action } = rule;
    if (action === 'Ignore') return { action, counts: false };
    if (action === 'FailIndex' || action === 'Count') return { action, counts: true };
    if (action === 'FailJob')
      return { action, counts: true, message: `${why} matching FailJob rule at index ${index}` };
  }
  return { counts: true };
}

/** In which way the rule fits; undefined if it does not. */
function matchOf({ onExitCodes, onPodConditions = [] }: Rule, { metadata, status }: Pod): string | undefined {
  const name = `${metadata?.namespace}/${metadata?.name}`;
  if (onExitCodes) {
    const containers = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
    const container = containers.find((each) => hasExitCode(each, onExitCodes));
    const code = container?.state?.terminated?.exitCode;
    return container && `Container ${container.name} for pod ${name} failed with exit code ${code}`;
  }
  const condition = status?.conditions?.find((each) =>
    onPodConditions.some((pattern) => each.type === pattern.type && each.status === pattern.status),
  );
  return condition && `Pod ${name} has condition ${condition.type}`;
}

function hasExitCode({ name, state }: ContainerStatus, { containerName, operator, values = [] }: ExitCodes): boolean {
  const code = state?.terminated?.exitCode ?? 0;
  if (code === 0 || (containerName !== undefined && containerName !== name)) return false;
  if (operator === 'In') return values.includes(code);
  return operator === 'NotIn' && !values.includes(code);
}
