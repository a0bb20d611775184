import { badRequest } from '../../../meta/status-error.ts';
import { bool, int32, list, opt, string, struct } from '../../../schema/schema.ts';
import type { ConnectContext, ConnectSubresource, ConnectTarget, Destination } from '../../kind.ts';
import { typeMeta } from '../../meta/type-meta.ts';
import { typed } from '../../typed.ts';
import { agentOf } from '../connections/agent-address.ts';
import { chosenContainer } from './pod-containers.ts';
import { asPod } from './pod-schema.ts';

const streamFields = {
  stdin: opt(1, bool(), 'Whether the client sends input.'),
  stdout: opt(2, bool(), 'Whether the client takes output.'),
  stderr: opt(3, bool(), 'Whether the client takes errors apart from output.'),
  tty: opt(4, bool(), 'Whether there is a terminal.'),
  container: opt(5, string(), 'The container; the only one if there is one.'),
};

const attachOptions = struct('api.core.v1.PodAttachOptions', 'Which streams of a container are connected.', {
  ...typeMeta,
  ...streamFields,
});
const execOptions = struct('api.core.v1.PodExecOptions', 'What runs in a container, and which of its streams are connected.', {
  ...typeMeta,
  ...streamFields,
  command: opt(6, list(string()), 'The program and its arguments; no shell is involved.'),
});
const portForwardOptions = struct('api.core.v1.PodPortForwardOptions', 'Which ports of a pod are connected.', {
  ...typeMeta,
  ports: opt(1, list(int32()), 'The ports, for clients that cannot name them later.'),
});

/** The streams in the query of an agent; the names are its own. */
const streamParameters = { stdin: 'input', stdout: 'output', stderr: 'error', tty: 'tty' } as const;

const upgrade = { type: 'connect', verbs: ['get', 'create'], carries: 'upgrade' } as const;
const core = { group: '', version: 'v1' } as const;

interface AgentRequest {
  readonly action: string;
  /** The wanted container; undefined if the whole pod is meant. */
  readonly container?: string;
  readonly query: URLSearchParams;
}

async function atAgent({ name, namespace, read }: ConnectTarget, context: ConnectContext, { action, container, query }: AgentRequest): Promise<Destination> {
  const pod = asPod(await read(name));
  const below = container === undefined ? '' : `/${chosenContainer(pod, container)}`;
  const nodeName = pod.spec?.nodeName ?? '';
  if (nodeName === '') throw badRequest(`pod ${name} does not have a host assigned`);
  query.sort();
  const agent = await agentOf(nodeName, context);
  return { ...agent, path: `/${action}/${namespace}/${name}${below}`, query: query.toString(), trust: 'agent' };
}

type StreamOptions = Partial<Record<keyof typeof streamParameters, boolean>>;

function streamQuery(options: StreamOptions, command: readonly string[] = []): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, parameter] of Object.entries(streamParameters)) {
    if (options[name as keyof StreamOptions]) query.set(parameter, '1');
  }
  for (const word of command) query.append('command', word);
  return query;
}

/** `pods/{name}/attach`, `exec` and `portforward`: streams to the agent of the pod's node. */
export const podStreams: readonly ConnectSubresource[] = [
  {
    ...upgrade,
    name: 'attach',
    options: { ...core, kind: 'PodAttachOptions', schema: attachOptions },
    locate: (object, target, context) => {
      const options = typed(attachOptions, object);
      return atAgent(target, context, {
        action: 'attach',
        container: options.container ?? '',
        query: streamQuery(options),
      });
    },
  },
  {
    ...upgrade,
    name: 'exec',
    options: { ...core, kind: 'PodExecOptions', schema: execOptions },
    locate: (object, target, context) => {
      const options = typed(execOptions, object);
      return atAgent(target, context, {
        action: 'exec',
        container: options.container ?? '',
        query: streamQuery(options, options.command),
      });
    },
  },
  {
    ...upgrade,
    name: 'portforward',
    options: { ...core, kind: 'PodPortForwardOptions', schema: portForwardOptions },
    locate: (object, target, context) => {
      const { ports = [] } = typed(portForwardOptions, object);
      const query = new URLSearchParams(ports.length > 0 ? { port: ports.join(',') } : {});
      return atAgent(target, context, { action: 'portForward', query });
    },
  },
];
