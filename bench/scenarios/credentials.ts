import { ApiClient, type ApiResponse } from '../api-client.ts';
import { letRead, namespace, whoAmI } from '../api-objects.ts';
import { type Credential, CredentialSources } from '../credentials.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { http2Reader, learn, type Read, type Reader, sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { medianCpu, ratesOf, ratioTo, type Sample, takeTurns } from '../rounds.ts';
import type { BenchContext, Scenario } from '../scenario.ts';

const collection = `/api/v1/namespaces/${namespace}/configmaps`;
const read: Read = { path: `${collection}/one` };
const streams = { connections: 4, streams: 24 };
/** Rounds are cut in so many: with many sides, both of a pair should stand close together. */
const parts = 3;

/** Reads of one object with each kind of credential, by users whom a RoleBinding lets read. */
export const credentials: Scenario = {
  name: 'credentials',
  async run(context) {
    await using sources = await CredentialSources.start(context.workspace);
    await using product = await context.start({ flags: sources.flags() });
    await product.api.expect(201, collection, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: configMapBody({ name: 'one', namespace }),
    });
    const all = await sources.credentials(product);
    await letRead(product.api, [...new Set(all.map(({ username }) => username))]);
    for (const credential of all) await checkUser(product, credential);
    const before = sources.questions;
    const rows = await measure(context, product, all);
    context.progress(`webhook and provider were asked ${sources.questions - before} times meanwhile`);
    return rows;
  },
};

/** What is measured is worth nothing where the user is another one than is thought. */
async function checkUser(product: Product, { name, username, pair, headers }: Credential): Promise<void> {
  const api = new ApiClient(product.accessWith(pair));
  try {
    const known = await whoAmI(api, headers);
    if (known !== username) throw new Error(`${name}: the user is ${known} instead of ${username}`);
  } finally {
    api.close();
  }
}

async function measure(context: BenchContext, product: Product, all: readonly Credential[]): Promise<readonly Row[]> {
  const { scale, progress } = context;
  progress(`GET one object with ${all.length} kinds of credentials`);
  const ceiling = await context.ceiling();
  const answer = await learn(product, ceiling, read);
  using readers = new Readers();
  const bare = readers.add(await http2Reader(ceiling, read, answer, streams));
  const admin = readers.add(await http2Reader(product, read, answer, streams));
  const shown: Reader[] = [];
  for (const credential of all) shown.push(readers.add(await readerAs(product, credential, answer)));
  const bounds = { durationMs: scale.roundMs / parts };
  const [limit = [], getRow = [], ...samples] = await takeTurns(scale.rounds * parts, [
    () => sampled(ceiling, () => bare.read(bounds)),
    ...[admin, ...shown].map((reader) => () => sampled(product, () => reader.read(bounds))),
  ]);
  const [certificate = []] = samples;
  return all.map((credential, index) =>
    index === 0
      ? rowOf(credential, certificate, limit, { samples: getRow, name: 'the GET row of the administrator' })
      : rowOf(credential, samples[index] ?? [], limit, { samples: certificate, name: 'the row of the certificate' }),
  );
}

/** Connections of one who shows the credential, and nothing else. */
function readerAs(product: Product, { pair, headers }: Credential, answer: ApiResponse): Promise<Reader> {
  const side = { http2: (count: number) => product.http2(count, product.accessWith(pair)) };
  return http2Reader(side, { ...read, repeated: headers }, answer, streams);
}

function rowOf(
  { name, cached }: Credential,
  samples: readonly Sample[],
  limit: readonly Sample[],
  other: { readonly samples: readonly Sample[]; readonly name: string },
): Row {
  const cpuOf = (of: readonly Sample[]): string => `${shortNumber(medianCpu(of) ?? 0)} µs`;
  return {
    what: `GET one object, ${name}`,
    unit: '/s',
    measured: ratesOf(samples),
    ceiling: ratesOf(limit),
    ratio: ratioTo(samples, limit),
    beside: { ratio: ratioTo(samples, other.samples), of: other.name },
    ...(cached && { reach: { of: 'beside', atLeast: 0.95 } }),
    notes: [`CPU per request ${cpuOf(samples)}, there ${cpuOf(other.samples)}, ceiling ${cpuOf(limit)}`],
  };
}

/** Readers that are open until all of them are closed. */
class Readers implements Disposable {
  readonly #all: Reader[] = [];

  add(reader: Reader): Reader {
    this.#all.push(reader);
    return reader;
  }

  [Symbol.dispose](): void {
    for (const reader of this.#all) reader[Symbol.dispose]();
  }
}
