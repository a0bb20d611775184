/**
 * What clients asked of one key, and what they were told. Every value that is written is written once, so that a value
 * names the write that it comes from.
 */
export type Call =
  | { readonly type: 'create'; readonly value: string }
  /** A PUT or a patch. `expected`: the value that was read before, whose version it names. Undefined: of any version. */
  | { readonly type: 'update'; readonly value: string; readonly expected?: string | undefined }
  /** Server-side apply: creates or changes. */
  | { readonly type: 'apply'; readonly value: string }
  | { readonly type: 'delete'; readonly expected?: string | undefined }
  | { readonly type: 'get' };

export type Answer =
  /** `value`: what is there afterwards; for a read, what is there. `revision`: of the object. */
  | { readonly type: 'done'; readonly value?: string | undefined; readonly revision?: number }
  | { readonly type: 'exists' }
  | { readonly type: 'conflict' }
  | { readonly type: 'absent' }
  /** The write was not done, and never will be. */
  | { readonly type: 'refused' }
  /** The write may have been done, or may still be. */
  | { readonly type: 'unknown' };

export interface Operation {
  readonly client: string;
  readonly key: string;
  readonly call: Call;
  readonly answer: Answer;
  /** Places in the order of all that clients did and saw. An operation without an answer is answered at infinity. */
  readonly invokedAt: number;
  readonly answeredAt: number;
}

/** The state of a key: its value; undefined if it is absent. */
export type State = string | undefined;

/** The state after an operation that happens in `state`; `impossible` if it would have been answered in another way. */
export function after(state: State, { call, answer }: Operation): { readonly state: State } | 'impossible' {
  const unchangedIf = (holds: boolean) => (holds ? { state } : 'impossible');
  switch (answer.type) {
    // That it was not done at all is told by its place in the order: it has none.
    case 'unknown':
      return effect(state, call) ?? { state };
    case 'refused':
      return { state };
    case 'exists':
      return unchangedIf(call.type === 'create' && state !== undefined);
    case 'absent':
      return unchangedIf(call.type !== 'create' && call.type !== 'apply' && state === undefined);
    case 'conflict':
      return unchangedIf('expected' in call && state !== undefined && state !== call.expected);
    case 'done':
      if (call.type === 'get') return unchangedIf(state !== undefined && state === answer.value);
      return effect(state, call) ?? 'impossible';
  }
}

/** What a write leads to; undefined if it is not possible there. */
function effect(state: State, call: Call): { readonly state: State } | undefined {
  switch (call.type) {
    case 'get':
      return { state };
    case 'apply':
      return { state: call.value };
    case 'create':
      return state === undefined ? { state: call.value } : undefined;
    case 'update':
      return isExpected(state, call.expected) ? { state: call.value } : undefined;
    case 'delete':
      return isExpected(state, call.expected) ? { state: undefined } : undefined;
  }
}

const isExpected = (state: State, expected: string | undefined): boolean =>
  state !== undefined && (expected === undefined || expected === state);

/** One operation in one line, for whoever looks at a history that is wrong. */
export function shown({ client, key, call, answer, invokedAt, answeredAt }: Operation): string {
  const { type, ...asked } = call;
  const { type: outcome, ...told } = answer;
  const until = Number.isFinite(answeredAt) ? answeredAt : '...';
  return `${invokedAt}-${until} ${client} ${type} ${key} ${JSON.stringify(asked)} -> ${outcome} ${JSON.stringify(told)}`;
}
