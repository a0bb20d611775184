import assert from 'node:assert/strict';
import { until } from '../../src/base/waits-fixture.ts';
import { kubernetes } from '../../src/dialect/kubernetes.ts';
import { RunningProgram } from './client-script.ts';
import { definitionPath } from './custom-resources.ts';
import type { ClientCommand } from './official-clients.ts';
import { type Answer, OrchProcess } from './orch-process.ts';
import {
  definitionManifest,
  definitionName,
  type PublishedDefinition,
  publishedDefinitions,
  sampleManifest,
} from './published-definitions.ts';

type Event = 'synced' | 'added' | 'modified' | 'deleted';

/** What a follower prints: ../clients/official/README.md. */
interface Line {
  readonly event: Event;
  readonly resource?: string;
  readonly name?: string;
  readonly resourceVersion?: string;
}

interface Written {
  readonly metadata: { readonly resourceVersion: string };
}

/** A kind, and where its objects are. */
interface Followed {
  readonly definition: PublishedDefinition;
  readonly collection: string;
  /** As arguments of a follower name it. */
  readonly resource: string;
}

function followed(definition: PublishedDefinition): Followed {
  const { group, names, scope } = definition.spec;
  const version = sampleManifest(definition, '').apiVersion.slice(group.length + 1);
  const within = scope === 'Namespaced' ? 'namespaces/default/' : '';
  return {
    definition,
    collection: `/apis/${group}/${version}/${within}${names.plural}`,
    resource: `${names.plural}.${version}.${group}`,
  };
}

/** Lines of a follower, so far. */
class Told {
  readonly #program: RunningProgram<Line>;
  readonly #seen = new Set<string>();

  constructor(program: RunningProgram<Line>) {
    this.#program = program;
  }

  /** Waits for a line that may have come already. Without a resourceVersion any will do. */
  async of(event: Event, resource = '', name = '', resourceVersion = ''): Promise<void> {
    const wanted = [event, resource, name, resourceVersion].join(' ');
    while (!this.#seen.has(wanted)) {
      const line = await this.#program.nextLine();
      if (!line) assert.fail(`it ended before it told of ${wanted}:\n${this.#program.standardError}`);
      this.#take(line);
    }
  }

  #take({ event, resource = '', name = '', resourceVersion = '' }: Line): void {
    const any = [event, resource, name, ''].join(' ');
    assert.ok(event !== 'added' || !this.#seen.has(any), `told twice: ${any}`);
    this.#seen.add(any).add([event, resource, name, resourceVersion].join(' '));
  }
}

/**
 * Runs a follower over the published definitions, and restarts the server under it: it tells of every object that is made,
 * changed and deleted before and after, in the state in which it was written. Resolves to its standard error.
 */
export async function followCustomObjects(follower: ClientCommand, folder: string): Promise<string> {
  await using server = await OrchProcess.start({ flags: [`--dialect=${kubernetes.name}`] });
  const kinds = publishedDefinitions.map(followed);
  await Promise.all(kinds.map(({ definition }) => define(server, definition)));
  const run = { ...follower, args: [...follower.args, ...kinds.map(({ resource }) => resource)] };
  using program = new RunningProgram<Line>(run, { folder, env: { KUBECONFIG: server.kubeconfig } });
  const told = new Told(program);
  await told.of('synced');

  /** Writes an object of each kind, and waits until all were told of. */
  async function each(event: Event, name: string, write: (kind: Followed) => Promise<Answer<Written>>): Promise<void> {
    const answers = await Promise.all(kinds.map(write));
    for (const [at, { status, json, text }] of answers.entries()) {
      assert.ok(status < 300, text);
      const version = event === 'deleted' ? '' : json.metadata.resourceVersion;
      await told.of(event, kinds[at]?.resource, name, version);
    }
  }
  const create = (name: string) =>
    each('added', name, ({ definition, collection }) => server.post(collection, sampleManifest(definition, name)));
  const change = (name: string) =>
    each('modified', name, ({ definition, collection }) => {
      const headers = { 'content-type': 'application/merge-patch+json' };
      return server.request('PATCH', `${collection}/${name}`, { body: definition.change, headers });
    });
  const remove = (name: string) => each('deleted', name, ({ collection }) => server.delete(`${collection}/${name}`));

  await create('one');
  await create('two');
  await change('one');
  await remove('one');
  await server.stop();
  await server.restart();
  await create('three');
  await change('two');
  await remove('two');
  assert.equal(await program.end(), 0, program.standardError);
  return program.standardError;
}

interface Defined {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

async function define(server: OrchProcess, definition: PublishedDefinition): Promise<void> {
  const { status, text } = await server.post(
    definitionPath(undefined, kubernetes),
    definitionManifest(definition, kubernetes),
  );
  assert.equal(status, 201, text);
  await until(async () => {
    const { json } = await server.get<Defined>(definitionPath(definitionName(definition), kubernetes));
    return json.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') === true;
  });
}
