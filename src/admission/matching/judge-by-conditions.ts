import type { Clock } from '../../base/time/clock.ts';
import type { ApiObject } from '../../meta/api-object.ts';
import type { AdmissionAttributes, ServedKind } from '../../request/admission.ts';
import { admissionRequest } from './admission-request.ts';
import type { JudgedObjects, MatchConditions } from './match-conditions.ts';
import { operationName } from './match-rules.ts';
import type { RequestDecisions } from './request-decisions.ts';

/** How an evaluation of conditions ended, for metrics. Plain data: it may come from another thread. */
export interface ConditionsOutcome {
  /** Of the webhook or policy. */
  readonly name: string;
  readonly kind: 'webhook' | 'policy';
  /** `admit` mutates; webhooks that validate are `validating`, policies of both kinds `validate`, as in kube-apiserver. */
  readonly type: 'admit' | 'validating' | 'validate';
  /** In capitals. */
  readonly operation: string;
  readonly seconds: number;
  /** Conditions that could not be evaluated. */
  readonly errors: number;
  readonly excluded: boolean;
}

/** The objects of a request in the version in which somebody wants them. */
export async function judgedObjects(
  attributes: AdmissionAttributes,
  as: ServedKind,
  params?: ApiObject,
): Promise<JudgedObjects> {
  const { object, old } = attributes;
  return {
    request: admissionRequest(attributes, as),
    object: object && (await attributes.inVersion(object, as)),
    oldObject: old && (await attributes.inVersion(old, as)),
    params,
  };
}

/** Whose conditions they are. */
interface Conditional extends Pick<ConditionsOutcome, 'name' | 'kind' | 'type'> {
  readonly conditions: MatchConditions;
}

interface JudgingParts {
  readonly attributes: AdmissionAttributes;
  readonly decisions: RequestDecisions;
  readonly clock: Clock;
  readonly conditionsObserved: (outcome: ConditionsOutcome) => void;
}

/** What conditions say of a request. */
type Verdict =
  | { readonly type: 'met' | 'excluded' }
  /** No condition is false, and some cannot be evaluated: the failure policy decides. */
  | { readonly type: 'failed'; readonly message: string };

export async function judgeByConditions(
  { conditions, ...whose }: Conditional,
  objects: JudgedObjects,
  { attributes, decisions, clock, conditionsObserved }: JudgingParts,
): Promise<Verdict> {
  const began = clock.monotonic();
  const match = await conditions.evaluate({ ...objects, attributes, decisions, clock });
  const errors = match.type === 'failed' ? match.errors : [];
  conditionsObserved({
    ...{ ...whose, operation: operationName(attributes), errors: errors.length, excluded: match.type === 'excluded' },
    seconds: (clock.monotonic() - began) / 1000,
  });
  if (match.type !== 'failed') return { type: match.type === 'match' ? 'met' : 'excluded' };
  return { type: 'failed', message: errors.length === 1 ? `${errors[0]}` : `[${errors.join(', ')}]` };
}
