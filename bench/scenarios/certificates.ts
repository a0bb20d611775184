import { create, json, namespace } from '../api-objects.ts';
import { Audience, jsonWatch } from '../audience.ts';
import { bareRate, CertificateRequests, signingRequests } from '../certificate-requests.ts';
import { Connections } from '../connections.ts';
import { PreparedRequest } from '../http2-client.ts';
import { type LoadResult, runLoad } from '../load.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { medianCpu, ratesOf, ratioTo, type Sample, takeTurns } from '../rounds.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';
import { percentile, statsOf } from '../stats.ts';

const slots = sizes.writers;
const connections = 4;
const clients = `${slots} clients on ${connections} connections`;
const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;

/** Of each that is signed: created, approved, signed. */
const writesOfEach = 3;

/** Certificate signing requests with P-256 keys, and what the controllers of `up` make of them. */
export const certificates: Scenario = {
  name: 'certificates',
  async run(context) {
    await using product = await context.start();
    await product.settled();
    using side = new Connections(await product.http2(connections));
    const bench = new CertificateBench(context, product, side);
    return [await bench.created(), await bench.signed()];
  },
};

class CertificateBench {
  readonly #context: BenchContext;
  readonly #product: Product;
  readonly #side: Connections;
  #configMaps = 0;

  constructor(context: BenchContext, product: Product, side: Connections) {
    this.#context = context;
    this.#product = product;
    this.#side = side;
  }

  /** Requests that nobody approves, in turns with ConfigMaps and with one thread that verifies signatures. */
  async created(): Promise<Row> {
    const { scale, progress } = this.#context;
    const what = `CertificateSigningRequest created, ${clients}`;
    progress(what);
    const made = new CertificateRequests('waiting', 'created');
    const count = scale.writesMax / 3;
    const [ours = [], plain = [], bare = []] = await takeTurns(scale.rounds, [
      () => this.#sampled(made.prepare(count)),
      () => this.#sampled(this.#newConfigMaps(count)),
      async () => ({ rate: bareRate(scale.roundMs / 2, 'verify') }),
    ]);
    return {
      what,
      unit: '/s',
      measured: ratesOf(ours),
      ceiling: ratesOf(bare),
      ratio: ratioTo(ours, bare),
      beside: { ratio: ratioTo(ours, plain), of: 'create of a ConfigMap by as many clients' },
      notes: [`${cpuOf(ours)}, ConfigMap ${micros(plain)}; the ceiling is verifications of one thread`],
    };
  }

  /** From the first create to the last certificate that a watch shows. */
  async signed(): Promise<Row> {
    const { scale, progress } = this.#context;
    const what = `certificates requested, approved and signed by the controllers of \`up\`, ${sizes.certificates} at once`;
    progress(what);
    const made = new CertificateRequests('signed', 'signed');
    const latencies: number[] = [];
    const audience = await this.#watch(made);
    const [ours = [], bare = []] = await takeTurns(scale.rounds, [
      async () => {
        const requests = made.prepare(sizes.certificates);
        const before = this.#product.cpuSeconds();
        let creating: Promise<LoadResult> | undefined;
        const { seconds, events, latencyMs } = await audience.deliver(requests.length * writesOfEach, () => {
          creating = this.#load(requests, 60_000);
          creating.catch(() => {});
        });
        await creating;
        requireSigned(events, requests.length);
        latencies.push(percentile(latencyMs, 50));
        const cpuMicros = ((this.#product.cpuSeconds() - before) / requests.length) * 1e6;
        return { rate: requests.length / seconds, cpuMicros };
      },
      async () => ({ rate: bareRate(scale.roundMs / 2, 'verify and sign') }),
    ]);
    return {
      what,
      unit: '/s',
      measured: ratesOf(ours),
      ceiling: ratesOf(bare),
      ratio: ratioTo(ours, bare),
      notes: [
        `${cpuOf(ours)}; the ceiling is one thread that verifies one signature and makes one for each`,
        `half of the events within ${shortNumber(statsOf(latencies).median)} ms`,
      ],
    };
  }

  /** Open once it has shown one request with its certificate. */
  async #watch(made: CertificateRequests): Promise<Audience> {
    const { api } = this.#product;
    const { body } = await api.expect(200, `${signingRequests}?limit=1`);
    const { metadata }: { readonly metadata: { readonly resourceVersion: string } } = JSON.parse(body.toString());
    const selector = encodeURIComponent(`spec.signerName=${made.signerName}`);
    const path = `${signingRequests}?watch=1&fieldSelector=${selector}&resourceVersion=${metadata.resourceVersion}`;
    const watching = await this.#product.http2(1);
    return Audience.open(watching, 1, jsonWatch(path), async (opening) => {
      await opening.deliver(writesOfEach, () => void create(api, signingRequests, made.next()));
    });
  }

  #newConfigMaps(count: number): readonly PreparedRequest[] {
    return Array.from({ length: count }, () => {
      this.#configMaps += 1;
      const body = configMapBody({ name: `beside-${this.#configMaps}`, namespace });
      return new PreparedRequest({ method: 'POST', path: configMaps, headers: json, body });
    });
  }

  #sampled(requests: readonly PreparedRequest[]): Promise<Sample> {
    return sampled(this.#product, () => this.#load(requests, this.#context.scale.roundMs));
  }

  /** None is sent twice. */
  #load(requests: readonly PreparedRequest[], durationMs: number): Promise<LoadResult> {
    return runLoad({
      slots,
      durationMs,
      requestsMax: requests.length,
      expected: { status: 201, bytesMin: 300 },
      send: (slot, turn, listener) => {
        const request = requests[turn];
        if (request) this.#side.at(slot)?.send(request, listener);
      },
    });
  }
}

/** Throws unless each request has a certificate in the end. */
function requireSigned(events: Buffer, count: number): void {
  const signed = new Set<string>();
  for (const line of events.toString().trimEnd().split('\n')) {
    const { object }: { readonly object: SignedRequest } = JSON.parse(line);
    if (object.status?.certificate !== undefined) signed.add(object.metadata.name);
  }
  if (signed.size !== count) throw new Error(`${signed.size} certificates instead of ${count}`);
}

interface SignedRequest {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly certificate?: string };
}

const micros = (samples: readonly Sample[]): string => `${shortNumber(medianCpu(samples) ?? 0)} µs`;
const cpuOf = (samples: readonly Sample[]): string => `CPU for each ${micros(samples)}`;
