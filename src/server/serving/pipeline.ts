import type { Exchange } from '../../http/exchange.ts';
import type { FlowControl } from './flow-control/flow-control.ts';
import type { RequestObserver } from './observe/request-observer.ts';
import { newContext, type RequestContext, type Stage } from './request-context.ts';
import { answer } from './stages/answer.ts';
import { audit } from './stages/audit.ts';
import { authenticate } from './stages/authenticate.ts';
import { authorize } from './stages/authorize.ts';
import { body } from './stages/body.ts';
import { deadline } from './stages/deadline.ts';
import { flow } from './stages/flow.ts';
import { fresh } from './stages/fresh.ts';
import { identified } from './stages/identified.ts';
import { impersonate } from './stages/impersonate.ts';
import { observe } from './stages/observe.ts';
import type { PipelineParts } from './stages/parts.ts';
import { prepare } from './stages/prepare.ts';
import { requestInfo } from './stages/request-info.ts';
import { seat } from './stages/seat.ts';
import { trace, traceIdentified } from './stages/trace.ts';
import { runTraced } from './tracing/traced-stage.ts';

/** The stages of a request in running order (design section 4). The last one answers. */
export const stages = (parts: PipelineParts): readonly Stage[] => [
  observe(parts),
  requestInfo(),
  ...trace(parts),
  deadline(parts),
  authenticate(parts),
  ...traceIdentified(parts),
  ...audit(parts),
  impersonate(parts),
  ...identified(parts),
  flow(parts),
  fresh(parts),
  authorize(parts),
  prepare(parts),
  body(parts),
  seat(parts),
  answer(parts),
];

interface PipelineEnds {
  /** Answers with an error. */
  readonly refuse: (context: RequestContext, error: unknown) => void;
  readonly flowControl: Pick<FlowControl, 'answered'>;
  readonly observers: readonly RequestObserver[];
  /** Counts work that went on after its request had timed out. */
  readonly workAfterTimeout?: (result: 'ok' | 'error') => void;
}

/**
 * Runs exchanges through the stages. An error thrown by a stage becomes the answer. Runs synchronously until a stage
 * returns a promise. After the last stage or a refusal, the answer is handed over and the request's resources are
 * released; not earlier, even if the client is gone, since its work goes on.
 */
export function servePipeline(
  list: readonly Stage[],
  { refuse, flowControl, observers, workAfterTimeout }: PipelineEnds,
): (exchange: Exchange) => void {
  const answered = observers.flatMap((each) => each.answered ?? []);
  const end = (context: RequestContext): void => {
    for (const notify of answered) notify(context);
    context.audit?.answered();
    if (context.ticket) flowControl.answered(context.ticket);
  };
  const fail = (context: RequestContext, error: unknown): void => {
    if (context.timedOut) workAfterTimeout?.('error');
    refuse(context, error);
    end(context);
  };
  const run = (context: RequestContext, from: number): void => {
    try {
      for (let at = from; at < list.length; at++) {
        const stage = list[at] as Stage;
        const waiting = context.rootSpan === undefined ? stage.run(context) : runTraced(stage, context);
        if (waiting) {
          waiting.then(
            () => run(context, at + 1),
            (error) => fail(context, error),
          );
          return;
        }
      }
    } catch (error) {
      fail(context, error);
      return;
    }
    if (context.timedOut) workAfterTimeout?.('ok');
    end(context);
  };
  return (exchange) => run(newContext(exchange), 0);
}
