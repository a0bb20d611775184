import { Dice } from '../dice.ts';
import { get, write } from '../simulated-world.ts';
import { ask, type Reply, type Servers } from './client.ts';
import { Cluster } from './cluster.ts';
import { type StoreDefect, stormy } from './faulty-store.ts';
import { linearizabilityProblem } from './linearizability.ts';
import type { Answer, Call } from './operation.ts';
import { Recorder } from './recorder.ts';

const group = 'rbac.authorization.orch.io';
const jane = { username: 'jane', uid: '', groups: [], extra: {} };
const granted = 'granted';
const readers = 3;
const [readsEach, changes] = [12, 10];

/** Servers, and the time that they have. */
interface PermissionWorld extends Servers {
  until<T>(promise: Promise<T>): Promise<T>;
  pause(ms: number): Promise<void>;
}

interface PermissionParts {
  readonly cluster: PermissionWorld;
  readonly dice: Dice;
  readonly recorder: Recorder;
  readonly namespace: string;
}

/**
 * What is decided about a user while a binding comes and goes: each decision must be that of a moment between its request and
 * its answer, as of a key that is read. So none is older than a revocation that was acknowledged before it was asked for.
 * Returns what is wrong, in words.
 */
export async function permissionProblem(
  seed: number,
  histories: number,
  defect?: StoreDefect,
): Promise<string | undefined> {
  const dice = new Dice(seed);
  await using cluster = await Cluster.start({ seed, dice, servers: 2, rates: stormy, defect });
  return await permissionProblemOf(cluster, dice, histories);
}

/** The same of servers that run. */
export async function permissionProblemOf(
  cluster: PermissionWorld,
  dice: Dice,
  histories: number,
): Promise<string | undefined> {
  for (let history = 0; history < histories; history++) {
    const parts = { cluster, dice, recorder: new Recorder(), namespace: `granted-${history}` };
    await cluster.until(makeRole(parts));
    const reading = Array.from({ length: readers }, (_, index) => read(parts, `r${index}`));
    await cluster.until(Promise.all([change(parts), ...reading]));
    const problem = linearizabilityProblem(parts.recorder.operations);
    if (problem !== undefined) return `history ${history}: ${problem}`;
  }
  return undefined;
}

const rolesIn = (namespace: string): string => `/apis/${group}/v1/namespaces/${namespace}`;

async function makeRole({ cluster, dice, namespace }: PermissionParts): Promise<void> {
  const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }];
  const requests = [
    write('POST', '/api/v1/namespaces', { metadata: { name: namespace } }),
    write('POST', `${rolesIn(namespace)}/roles`, { metadata: { name: 'reader' }, rules }),
  ];
  for (const request of requests) {
    for (let isMade = false; !isMade; ) {
      const reply = await ask(dice.pick(cluster.members), request);
      isMade = reply !== 'gone' && (reply.status === 201 || reply.status === 409);
    }
  }
}

/** Gives the permission, takes it away, and again. */
async function change({ cluster, dice, recorder, namespace }: PermissionParts): Promise<void> {
  const bindings = `${rolesIn(namespace)}/rolebindings`;
  const binding = {
    metadata: { name: 'reader' },
    roleRef: { apiGroup: group, kind: 'Role', name: 'reader' },
    subjects: [{ apiGroup: group, kind: 'User', name: jane.username }],
  };
  for (let count = 0; count < changes; count++) {
    const isGiven = count % 2 === 0;
    const call: Call = isGiven ? { type: 'create', value: granted } : { type: 'delete' };
    const request = isGiven ? write('POST', bindings, binding) : write('DELETE', `${bindings}/reader`, {});
    await recorder.operation('admin', 'the permission', call, async () =>
      outcomeOf(await ask(dice.pick(cluster.members), request)),
    );
    await cluster.pause(dice.below(20));
  }
}

function outcomeOf(reply: Reply | 'gone'): Answer {
  if (reply === 'gone' || reply.status === 504) return { type: 'unknown' };
  if (reply.status === 200 || reply.status === 201) return { type: 'done' };
  if (reply.status === 409) return { type: 'exists' };
  return { type: reply.status === 404 ? 'absent' : 'refused' };
}

/** Asks for an object that is not there: who may ask is told so. */
async function read({ cluster, dice, recorder, namespace }: PermissionParts, client: string): Promise<void> {
  const request = get(`/api/v1/namespaces/${namespace}/configmaps/none`);
  for (let count = 0; count < readsEach; count++) {
    await recorder.operation(client, 'the permission', { type: 'get' }, async () => {
      const reply = await ask(dice.pick(cluster.members), request, jane);
      if (reply === 'gone') return { type: 'refused' };
      if (reply.status === 404) return { type: 'done', value: granted };
      return { type: reply.status === 403 ? 'absent' : 'refused' };
    });
    await cluster.pause(dice.below(10));
  }
}
