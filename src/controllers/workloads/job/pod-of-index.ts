import type { Dialect } from '../../../dialect/dialect.ts';
import { jobNames } from '../../../dialect/workload-names.ts';
import { nameOf } from '../../../meta/api-object.ts';
import type { JobFacts, JobPod } from './job-facts.ts';

/** Longest prefix of a generated name: the server adds five characters to make a label of DNS. */
const prefixLengthMax = 58;

/** What the pod of an index has besides the template: name, hostname, and the index where its programs can read it. */
export function podOfIndex(facts: JobFacts, dialect: Dialect, index: number, replaced: JobPod | undefined) {
  const names = jobNames(dialect);
  const name = nameOf(facts.job);
  const { containers = [], initContainers } = facts.spec.template?.spec ?? {};
  const fieldPath = `metadata.labels['${names.completionIndex}']`;
  const withIndex = (all: typeof containers) => all.map((container) => withVariable(container, fieldPath));
  return {
    generateName: `${name.slice(0, prefixLengthMax - `-${index}-`.length)}-${index}-`,
    labels: { [names.completionIndex]: `${index}` },
    annotations: { [names.completionIndex]: `${index}`, ...failureCounts(facts, names, replaced) },
    spec: {
      hostname: `${name}-${index}`,
      containers: withIndex(containers),
      ...(initContainers && { initContainers: withIndex(initContainers as typeof containers) }),
    },
  };
}

const variable = 'JOB_COMPLETION_INDEX';

function withVariable<C extends { readonly env?: readonly { readonly name?: string }[] | undefined }>(
  container: C,
  fieldPath: string,
) {
  const { env = [] } = container;
  if (env.some(({ name }) => name === variable)) return container;
  return { ...container, env: [...env, { name: variable, valueFrom: { fieldRef: { fieldPath } } }] };
}

/** Failures of the index before this pod, where they are counted by index. */
function failureCounts(
  { spec }: JobFacts,
  { indexFailureCount, indexIgnoredFailureCount }: ReturnType<typeof jobNames>,
  replaced: JobPod | undefined,
): Readonly<Record<string, string>> {
  if (spec.backoffLimitPerIndex === undefined) return {};
  const { counted, all } = replaced?.indexFailures ?? { counted: 0, all: 0 };
  const counts = replaced?.verdict.counts === true ? 1 : 0;
  const ignored = all - counted + (replaced ? 1 - counts : 0);
  return {
    [indexFailureCount]: `${counted + counts}`,
    ...(ignored > 0 && { [indexIgnoredFailureCount]: `${ignored}` }),
  };
}
