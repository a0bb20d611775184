import { ClosableStack } from '../../base/disposable.ts';
import { limits } from '../../base/limits.ts';
import { Metrics } from '../../base/metrics.ts';
import { systemRandom } from '../../base/random.ts';
import type { Clock } from '../../base/time/clock.ts';
import { orch } from '../../dialect/orch.ts';
import type { Exchange } from '../../http/exchange.ts';
import { isReadVerb, parseRequestInfo, type RequestInfo } from '../../request/request-info.ts';
import type { UserInfo } from '../../request/user-info.ts';
import { accessMetrics } from './access-metrics.ts';
import { FlowControl, type FlowScope } from './flow-control/flow-control.ts';
import { type CapacityOptions, SharedCapacity } from './flow-control/shared-capacity.ts';
import type { Operation } from './operation.ts';
import { servePipeline, stages } from './pipeline.ts';
import { newContext, type RequestContext } from './request-context.ts';
import type { PipelineParts } from './stages/parts.ts';

/** Test fixture: the pipeline without HTTP in front and registry behind. */

export const jane: UserInfo = { username: 'jane', uid: '', groups: ['system:authenticated'], extra: {} };

interface FixtureOptions extends Partial<PipelineParts> {
  readonly clock: Clock;
  readonly flow?: Partial<CapacityOptions & FlowScope>;
}

/** Defaults: every user is jane, everything is allowed, every answer is 200. */
export function pipelineParts({ flow, ...options }: FixtureOptions): PipelineParts {
  const resources = options.resources ?? new ClosableStack();
  const metrics = new Metrics();
  const capacity = new SharedCapacity({
    clock: options.clock,
    dialect: orch,
    metrics,
    max: { reads: 400, writes: 200 },
    requestMsMax: limits.requestMsMax,
    ...flow,
  });
  resources.add(capacity);
  return {
    resources,
    random: systemRandom,
    observers: [],
    dialect: orch,
    authenticator: { authenticate: () => jane },
    authorizer: { authorize: () => ({ verdict: 'allow', reason: '' }) },
    access: accessMetrics(metrics, orch),
    flowControl: new FlowControl(capacity, { name: '', isLoopback: () => false, hasRole: () => true, ...flow }),
    upToDate: () => undefined,
    requestMsMax: limits.requestMsMax,
    refuse: ({ exchange }, error) => {
      throw new Error(`${exchange.method} ${exchange.target} was refused`, { cause: error });
    },
    prepare: ({ info }) => operationOf(info),
    answer: ({ exchange }) => exchange.respond(200, {}),
    ...options,
  };
}

export const pipelineOf = (parts: PipelineParts): ((exchange: Exchange) => void) => servePipeline(stages(parts), parts);

/** A minimal operation for the stages: seat and body form. */
export function operationOf(info: RequestInfo): Operation {
  if (info.type === 'path') return { type: 'path', path: info.path, handle: () => {} };
  const reads = isReadVerb(info.verb);
  const seat = info.verb === 'watch' ? undefined : reads ? 'readOnly' : 'mutating';
  const form = reads ? undefined : ({ type: 'whole', format: 'json' } as const);
  return { type: 'resource', info, seat, form } as Operation;
}

export const contextOf = <E extends Exchange>(exchange: E): RequestContext & { readonly exchange: E } => ({
  ...newContext(exchange),
  info: parseRequestInfo(exchange.method, exchange.target),
});
