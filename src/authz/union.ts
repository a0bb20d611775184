import type { Caller } from '../base/caller.ts';
import type { UserInfo } from '../request/user-info.ts';
import type { Attributes, Authorizer, Decision } from './authorizer.ts';
import { noRules, type RuleResolver, type UserRules } from './rule-resolver.ts';

/**
 * Several authorizers as one (spec section 5.7): asked in order, the first that allows or denies decides, with its own
 * reason and nothing of what was said before it. Where none decides, the reasons are joined by line breaks, and what went
 * wrong is put together. Stays synchronous for as long as those who are asked do: this runs for every request.
 */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  const from = (
    start: number,
    heard: Heard | undefined,
    attributes: Attributes,
    user: UserInfo,
    caller: Caller | undefined,
  ): Decision | Promise<Decision> => {
    let said = heard;
    for (let at = start; at < authorizers.length; at++) {
      const answer = (authorizers[at] as Authorizer).authorize(attributes, user, caller);
      if (answer instanceof Promise) {
        return answer.then((late) => (decides(late) ? late : from(at + 1, hear(said, late), attributes, user, caller)));
      }
      if (decides(answer)) return answer;
      said = hear(said, answer);
    }
    return said ? undecided(said) : noOpinion;
  };
  return { authorize: (attributes, user, caller) => from(0, undefined, attributes, user, caller) };
}

/** What those who did not decide have said. */
interface Heard {
  readonly reasons: readonly string[];
  readonly errors: readonly string[];
}

const noOpinion: Decision = { verdict: 'noOpinion', reason: '' };

const decides = ({ verdict }: Decision): boolean => verdict === 'allow' || verdict === 'deny';

/** Makes nothing new where nothing was said. */
function hear(heard: Heard | undefined, { reason, evaluationError }: Decision): Heard | undefined {
  if (reason === '' && evaluationError === undefined) return heard;
  return {
    reasons: [...(heard?.reasons ?? []), ...(reason === '' ? [] : [reason])],
    errors: [...(heard?.errors ?? []), ...(evaluationError === undefined ? [] : [evaluationError])],
  };
}

function undecided({ reasons, errors }: Heard): Decision {
  const reason = reasons.join('\n');
  if (errors.length === 0) return { verdict: 'noOpinion', reason };
  return { verdict: 'noOpinion', reason, evaluationError: joinErrors(errors) };
}

/** Several errors as one text, each once, as clients know it. */
function joinErrors(errors: readonly string[]): string {
  const different = [...new Set(errors)];
  return different.length === 1 ? String(different[0]) : `[${different.join(', ')}]`;
}

/**
 * What all of them allow, in their order. Incomplete where one of them is; what one could not look up stands beside what
 * the others found.
 */
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
