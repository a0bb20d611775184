import { type Span, spanning } from '../../../base/span.ts';
import type { RequestContext, Stage } from '../request-context.ts';
import { startVerb } from './request-tracer.ts';

/** Names of the spans of stages, which are those of kube-apiserver's filters. */
const stageSpans: ReadonlyMap<string, string> = new Map([
  ['authenticate', 'authentication'],
  ['audit', 'audit'],
  ['impersonate', 'impersonation'],
  ['seat', 'priorityandfairness'],
  ['authorize', 'authorization'],
]);

/** Runs a stage of a request that is traced. From `body` on, all is within the span of the verb. */
export function runTraced(stage: Stage, context: RequestContext): void | Promise<void> {
  const { exchange } = context;
  if (stage.name === 'body') return receiveBody(stage, context);
  if (stage.name === 'answer' && context.verbSpan) return spanning(context.verbSpan, () => stage.run(context));
  const name = stageSpans.get(stage.name);
  const { span } = exchange;
  return name === undefined || !span ? stage.run(context) : runWithin(stage, context, { name, parent: span });
}

/** Calls of others that the stage makes are within its span. */
function runWithin(
  stage: Stage,
  context: RequestContext,
  { name, parent }: { readonly name: string; readonly parent: Span },
): void | Promise<void> {
  const { exchange } = context;
  const span = parent.child(name);
  exchange.span = span;
  const end = (): void => {
    span.end();
    exchange.span = parent;
  };
  return spanning({ end }, () => stage.run(context));
}

function receiveBody(stage: Stage, context: RequestContext): void | Promise<void> {
  const { exchange } = context;
  const span = exchange.span && startVerb(context, exchange.span);
  if (!span) return stage.run(context);
  context.verbSpan = span;
  exchange.span = span;
  const received = (): void => {
    const body = context.ticket?.body;
    if (body) span.event('limitedReadBody succeeded', { len: body.bytes.length });
  };
  const waiting = stage.run(context);
  return waiting ? waiting.then(received) : received();
}
