import type { Caller } from '../base/caller.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { Attributes, Authorizer, Decision } from './authorizer.ts';
import { noRules, type RuleResolver, type UserRules } from './rule-resolver.ts';

/**
 * A chain of authorizers as one (spec section 5.7). The first that allows or denies decides, and only its reason is returned.
 * If none decides, the reasons are joined by line breaks and the errors are aggregated. Synchronous as long as the authorizers
 * are, since it runs for every request.
 */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  const decideFrom = (
    start: number,
    earlier: Undecided | undefined,
    attributes: Attributes,
    user: UserInfo,
    caller: Caller | undefined,
  ): Decision | Promise<Decision> => {
    let collected = earlier;
    for (let at = start; at < authorizers.length; at++) {
      const answer = (authorizers[at] as Authorizer).authorize(attributes, user, caller);
      if (answer instanceof Promise) {
        return answer.then((late) =>
          decides(late) ? late : decideFrom(at + 1, addTo(collected, late), attributes, user, caller),
        );
      }
      if (decides(answer)) return answer;
      collected = addTo(collected, answer);
    }
    return collected ? undecided(collected) : noOpinion;
  };
  return { authorize: (attributes, user, caller) => decideFrom(0, undefined, attributes, user, caller) };
}

/** Reasons and errors of the authorizers without an opinion. */
interface Undecided {
  readonly reasons: readonly string[];
  readonly errors: readonly string[];
}

const noOpinion: Decision = { verdict: 'noOpinion', reason: '' };

const decides = ({ verdict }: Decision): boolean => verdict === 'allow' || verdict === 'deny';

/** Allocates nothing if there is neither reason nor error. */
function addTo(earlier: Undecided | undefined, { reason, evaluationError }: Decision): Undecided | undefined {
  if (reason === '' && evaluationError === undefined) return earlier;
  return {
    reasons: [...(earlier?.reasons ?? []), ...(reason === '' ? [] : [reason])],
    errors: [...(earlier?.errors ?? []), ...(evaluationError === undefined ? [] : [evaluationError])],
  };
}

function undecided({ reasons, errors }: Undecided): Decision {
  const reason = reasons.join('\n');
  if (errors.length === 0) return { verdict: 'noOpinion', reason };
  return { verdict: 'noOpinion', reason, evaluationError: joinErrors(errors) };
}

/** Several errors as one string without duplicates, in kube-apiserver's format. */
function joinErrors(errors: readonly string[]): string {
  const different = [...new Set(errors)];
  return different.length === 1 ? String(different[0]) : `[${different.join(', ')}]`;
}

/** The rules of all resolvers, in order. Incomplete if any list is; its errors are returned with the others' rules. */
export function unionRules(resolvers: readonly RuleResolver[]): RuleResolver {
  return {
    rulesFor(user, namespace) {
      const answers = resolvers.map((resolver) => resolver.rulesFor(user, namespace));
      return answers.some((answer) => answer instanceof Promise)
        ? Promise.all(answers).then(joinRules)
        : joinRules(answers as readonly UserRules[]);
    },
  };
}

function joinRules(answers: readonly UserRules[]): UserRules {
  if (answers.length === 1) return answers[0] ?? noRules;
  return {
    resourceRules: answers.flatMap(({ resourceRules }) => resourceRules),
    pathRules: answers.flatMap(({ pathRules }) => pathRules),
    incomplete: answers.some(({ incomplete }) => incomplete),
    errors: [...new Set(answers.flatMap(({ errors }) => errors))],
  };
}
