import { notFound, StatusError, type StatusReason } from '../../meta/status-error.ts';
import type { AdmissionAttributes } from '../../request/admission.ts';
import type { AdmissionConfigurations } from '../admission-configurations.ts';
import { type AdmissionPlugin, type Mutator, type MutatorTurn, noMutators } from '../chain.ts';
import { admissionForbidden } from '../forbidden.ts';
import type { Matched } from '../matching/match-index.ts';
import { evaluateMutation } from './evaluate-mutation.ts';
import type { MutatingPolicy, PolicyBinding } from './policy.ts';
import {
  conditionsOf,
  type Invocation,
  type InvocationParts,
  inputFor,
  invocationsOf,
  isExcluded,
  namespaceFor,
  namespaceNameOf,
  objectsFor,
  type PolicyRequest,
  policyRequest,
} from './policy-invocations.ts';

/** What the plugin needs of the server. */
export interface MutatingParts extends InvocationParts {
  readonly configurations: Pick<AdmissionConfigurations, 'mutatingPolicies'>;
  /** Policies can be written wherever they are served; otherwise none counts. */
  readonly enabled: boolean;
}

/**
 * MutatingAdmissionPolicies (KEP-3962): expressions that change objects. Each policy sees what those before it left. What fails
 * refuses the request when all have been evaluated, and takes nothing back.
 */
export const mutatingPolicies = (parts: MutatingParts): AdmissionPlugin => ({
  name: 'MutatingAdmissionPolicy',
  sideEffects: 'none',
  concerns: (attributes) =>
    parts.enabled && attributes.operation !== 'delete' && !isExcluded(attributes, parts.dialect),
  mutate: ({ signal }) => parts.upToDate(signal),
  mutators(attributes) {
    const matched = parts.configurations.mutatingPolicies.find(attributes);
    return matched.length === 0 ? noMutators : turnOf(matched, policyRequest(attributes, parts));
  },
});

/** Something that refuses the request. */
interface Failure {
  readonly policy: string;
  readonly binding: PolicyBinding | undefined;
  readonly message: string;
  readonly reason: StatusReason;
}

async function turnOf(matched: readonly Matched<MutatingPolicy>[], request: PolicyRequest): Promise<MutatorTurn> {
  const found = await invocationsOf(matched, request);
  const failures: Failure[] = [];
  const fail = (policy: MutatingPolicy, failure: Omit<Failure, 'policy'>): void => {
    if (policy.failurePolicy === 'Fail') failures.push({ policy: policy.name, ...failure });
  };
  for (const each of found) {
    if (each.type !== 'misconfigured') continue;
    const { policy, binding, message } = each;
    fail(policy, { binding, message, reason: 'Forbidden' });
  }
  const invocations = found.filter((each) => each.type === 'invocation');
  if (invocations.length > 0) await requireNamespace(request);
  return {
    mutators: invocations.map((each) =>
      mutatorOf(each, request, (message) => fail(each.policy, { binding: each.binding, message, reason: 'Invalid' })),
    ),
    end() {
      if (failures.length > 0) throw refusal(request.attributes, failures);
    },
  };
}

async function requireNamespace(request: PolicyRequest): Promise<void> {
  const name = namespaceNameOf(request.attributes);
  if (name !== '' && !(await namespaceFor(request))) throw notFound({ group: '', resource: 'namespaces' }, name);
}

type Fail = (message: string) => void;

function mutatorOf(invocation: Invocation<MutatingPolicy>, request: PolicyRequest, fail: Fail): Mutator {
  const { policy, binding, params } = invocation;
  const { name = '', namespace = '' } = params?.metadata ?? {};
  return {
    id: [policy.name, binding.name, namespace, name].join('/'),
    title: `policy '${policy.name}' with binding '${binding.name}'`,
    sideEffects: 'none',
    reinvocationPolicy: policy.reinvocationPolicy,
    async concerns() {
      const excluded = await conditionsOf(policy, await objectsFor(invocation, request), request);
      if (typeof excluded === 'string') fail(excluded);
      return excluded === undefined;
    },
    mutate: () => mutate(invocation, request, fail),
  };
}

async function mutate(invocation: Invocation<MutatingPolicy>, request: PolicyRequest, fail: Fail): Promise<void> {
  const { attributes, parts } = request;
  const { policy, as } = invocation;
  const { begin, mutations } = await policy.expressions.get(parts.clock);
  for (const mutation of mutations) {
    const shown = await objectsFor(invocation, request);
    if (!shown.object) return;
    const evaluation = begin(await inputFor(shown, request), parts.clock);
    const schema = attributes.schemaOf(as);
    const mutated = await evaluateMutation(mutation, { object: shown.object, schema, evaluation });
    if (mutated.type === 'failed') fail(mutated.message);
    else if (mutated.object !== shown.object) await attributes.replace(mutated.object, as);
  }
}

/** Told like the first failure; all are causes. The code stays that of Forbidden, as in kube-apiserver. */
function refusal(attributes: AdmissionAttributes, failures: readonly Failure[]): StatusError {
  const messages = failures.map(({ policy, binding, message }) => {
    const by = binding ? `policy '${policy}' with binding '${binding.name}'` : `policy ${JSON.stringify(policy)}`;
    return `${by} denied request: ${message}`;
  });
  const causes = messages.map((message) => ({ message }));
  const { details } = admissionForbidden(attributes, '', causes);
  const [first] = failures;
  return new StatusError(first?.reason ?? 'Forbidden', messages[0] ?? '', { code: 403, ...(details && { details }) });
}
