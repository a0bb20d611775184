import type { ApiObject } from '../../../meta/api-object.ts';
import { type FieldError, forbidden, invalid, notSupported } from '../../../meta/field-error.ts';
import { bool, int64, opt, ptr, string, struct, time } from '../../../schema/schema.ts';
import type { ConnectContext, ConnectSubresource } from '../../kind.ts';
import { typeMeta } from '../../meta/type-meta.ts';
import { typed } from '../../typed.ts';
import { agentOf } from '../connections/agent-address.ts';
import { chosenContainer } from './pod-containers.ts';
import { asPod } from './pod-schema.ts';

const schema = struct('api.core.v1.PodLogOptions', 'What to show of the log of a container.', {
  ...typeMeta,
  container: opt(1, string(), 'The container; the only one if there is one.'),
  follow: opt(2, bool(), 'Go on with what the container writes.'),
  previous: opt(3, bool(), 'The log of the container before it was restarted.'),
  sinceSeconds: ptr(4, int64(), 'Only what is not older than this many seconds.'),
  sinceTime: ptr(5, time(), 'Only what is not older than this.'),
  timestamps: opt(6, bool(), 'Begin each line with its time.'),
  tailLines: ptr(7, int64(), 'Only this many of the last lines.'),
  limitBytes: ptr(8, int64(), 'End after this many bytes, perhaps within a line.'),
  insecureSkipTLSVerifyBackend: opt(9, bool(), 'Take the log from an agent whose certificate is not verified.'),
  stream: ptr(10, string(), 'Only what went to `Stdout` or `Stderr`. Default: `All`.'),
});

/** Feature gate of the option `stream`. */
const splitStreams = 'PodLogsQuerySplitStreams';

const streams = ['All', 'Stderr', 'Stdout'];
const positive = 'must be greater than 0';

function validate(object: ApiObject, { features }: ConnectContext): readonly FieldError[] {
  const { tailLines, limitBytes, sinceSeconds, sinceTime, stream } = typed(schema, object);
  const errors: FieldError[] = [];
  if (tailLines !== undefined && tailLines < 0) {
    errors.push(invalid('tailLines', tailLines, 'must be greater than or equal to 0'));
  }
  if (limitBytes !== undefined && limitBytes < 1) errors.push(invalid('limitBytes', limitBytes, positive));
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    errors.push(forbidden('', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  } else if (sinceSeconds !== undefined && sinceSeconds < 1) {
    errors.push(invalid('sinceSeconds', sinceSeconds, positive));
  }
  if (stream === undefined) return errors;
  if (!features.has(splitStreams)) return [...errors, forbidden('stream', 'may not be specified')];
  if (!streams.includes(stream)) errors.push(notSupported('stream', stream, streams));
  if (stream !== 'All' && tailLines !== undefined) {
    errors.push(forbidden('', '`tailLines` and specific `stream` are mutually exclusive for now'));
  }
  return errors;
}

/** The query of the agent, its parameters sorted by name. */
function queryOf(object: ApiObject, { features }: ConnectContext): string {
  const options = typed(schema, object);
  const query = new URLSearchParams();
  for (const name of ['follow', 'previous', 'timestamps'] as const) if (options[name]) query.set(name, 'true');
  for (const name of ['sinceSeconds', 'tailLines', 'limitBytes'] as const) {
    if (options[name] !== undefined) query.set(name, String(options[name]));
  }
  if (options.sinceTime !== undefined) query.set('sinceTime', options.sinceTime);
  if (features.has(splitStreams)) query.set('stream', options.stream ?? 'All');
  query.sort();
  return query.toString();
}

/** `pods/{name}/log`. A pod that has no node yet has an empty log. */
export const podLog: ConnectSubresource = {
  type: 'connect',
  name: 'log',
  verbs: ['get'],
  carries: 'text',
  options: { group: '', version: 'v1', kind: 'PodLogOptions', schema },
  validate,
  locate: async (object, { name, namespace, read }, context) => {
    const pod = asPod(await read(name));
    const { container = '', insecureSkipTLSVerifyBackend } = typed(schema, object);
    const chosen = chosenContainer(pod, container);
    const nodeName = pod.spec?.nodeName ?? '';
    if (nodeName === '') return undefined;
    return {
      ...(await agentOf(nodeName, context)),
      path: `/containerLogs/${namespace}/${name}/${chosen}`,
      query: queryOf(object, context),
      trust: insecureSkipTLSVerifyBackend ? 'agentUnverified' : 'agent',
    };
  },
};
