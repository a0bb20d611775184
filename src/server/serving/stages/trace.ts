import { spanning } from '../../../base/span.ts';
import type { Exchange } from '../../../http/exchange.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import { startVerb } from '../tracing/request-tracer.ts';
import type { PipelineParts } from './parts.ts';

/** Names of the spans of stages, which are those of kube-apiserver's filters. */
const stageSpans: ReadonlyMap<string, string> = new Map([
  ['authenticate', 'authentication'],
  ['audit', 'audit'],
  ['impersonate', 'impersonation'],
  ['seat', 'priorityandfairness'],
  ['authorize', 'authorization'],
]);

/**
 * Adds to the stages what traces need. Without a tracer they stay as they are; of a request that is not traced, each
 * stage with a span asks once whether it is.
 */
export function traced(stages: readonly Stage[], { tracer }: Pick<PipelineParts, 'tracer'>): readonly Stage[] {
  if (!tracer) return stages;
  return stages.flatMap((stage): readonly Stage[] => {
    const name = stageSpans.get(stage.name);
    const wrapped = name === undefined ? stage : withSpan(stage, name);
    switch (stage.name) {
      case 'requestInfo':
        return [stage, { name: 'trace', run: (context) => tracer.receive(context) }];
      case 'authenticate':
        return [wrapped, { name: 'traceIdentified', run: (context) => tracer.identify(context) }];
      case 'prepare':
        return [stage, verb];
      case 'body':
        return [stage, bodyReceived];
      case 'answer':
        return [withVerb(stage)];
      default:
        return [wrapped];
    }
  });
}

const withSpan = (stage: Stage, name: string): Stage => ({
  name: stage.name,
  run: (context) => (context.exchange.span ? runWithin(context, stage, name) : stage.run(context)),
});

/** Calls of others that the stage makes are within its span. */
function runWithin(context: RequestContext, stage: Stage, name: string): void | Promise<void> {
  const { exchange } = context;
  const { span } = exchange;
  if (!span) return stage.run(context);
  const child = span.child(name);
  exchange.span = child;
  const end = (): void => {
    child.end();
    leave(exchange, child, span);
  };
  return spanning({ end }, () => stage.run(context));
}

/** Not if the request went on meanwhile, since its deadline has passed. */
function leave(exchange: Exchange, from: Exchange['span'], to: Exchange['span']): void {
  if (exchange.span === from) exchange.span = to;
}

/** From here on all is within the span of the verb, which ends with the answer or the request. */
const verb: Stage = {
  name: 'traceVerb',
  run(context) {
    const { exchange } = context;
    const span = exchange.span && startVerb(context, exchange.span);
    if (!span) return;
    context.verbSpan = span;
    exchange.span = span;
  },
};

const bodyReceived: Stage = {
  name: 'traceBody',
  run({ verbSpan, ticket }) {
    if (verbSpan && ticket?.body) verbSpan.event('limitedReadBody succeeded', { len: ticket.body.bytes.length });
  },
};

const withVerb = (answer: Stage): Stage => ({
  name: answer.name,
  run: (context) => (context.verbSpan ? spanning(context.verbSpan, () => answer.run(context)) : answer.run(context)),
});
