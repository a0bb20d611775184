import { join } from 'node:path';
import { AccountTokens } from '../account-tokens.ts';
import type { ApiResponse } from '../api-client.ts';
import {
  accountName,
  accountToken,
  create,
  dialect,
  json,
  jsonBody,
  letRead,
  namespace,
  tokenRequestPath,
} from '../api-objects.ts';
import { type Ceiling, cannedFrom } from '../ceiling.ts';
import { Connections } from '../connections.ts';
import { PreparedRequest } from '../http2-client.ts';
import { type Expected, type LoadResult, runLoad } from '../load.ts';
import { configMapBody } from '../objects.ts';
import type { Product } from '../product.ts';
import { http2Reader, learn, sampled } from '../reads.ts';
import { type Row, shortNumber } from '../report.ts';
import { medianCpu, ratesOf, ratioTo, type Sample, takeTurns } from '../rounds.ts';
import { sizes } from '../scale.ts';
import type { BenchContext, Scenario } from '../scenario.ts';

const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
const tokenReviews = `/apis/${dialect.group('authentication')}/v1/tokenreviews`;
const accessReviews = `/apis/${dialect.group('authorization')}/v1/selfsubjectaccessreviews`;

const slots = sizes.writers;
const connections = 4;
const clients = `${slots} clients on ${connections} connections`;

/** Tokens that are made and reviewed, and what users ask about themselves. */
export const reviews: Scenario = {
  name: 'reviews',
  async run(context) {
    const dataDirectory = context.workspace.freshPath('data');
    await using product = await context.start({ dataDirectory });
    const { api } = product;
    await create(api, `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: accountName } });
    await letRead(api, [`system:serviceaccount:${namespace}:${accountName}`]);
    const token = await accountToken(api);
    const tokens = new AccountTokens(token, join(dataDirectory, 'pki/service-account.key'));
    const bench = new ReviewBench(context, product, await context.ceiling());
    return [
      await bench.tokenRequests(tokens),
      { ...(await bench.differentTokens(tokens)), reach: { of: 'measured', atLeast: 5_000 } },
      await bench.sameToken(token),
      await bench.accessReviews(token),
    ];
  },
};

/** A question that is posted again and again. */
interface Question {
  readonly path: string;
  readonly body: Buffer;
  /** Of whom asks: the administrator where there is none. */
  readonly token?: string;
}

class ReviewBench {
  readonly #context: BenchContext;
  readonly #product: Product;
  readonly #ceiling: Ceiling;

  constructor(context: BenchContext, product: Product, ceiling: Ceiling) {
    this.#context = context;
    this.#product = product;
    this.#ceiling = ceiling;
  }

  /** Tokens that the product makes. */
  async tokenRequests(tokens: AccountTokens): Promise<Row> {
    const what = `TokenRequest, ${clients}`;
    const question = { path: tokenRequestPath, body: jsonBody({ spec: {} }) };
    const { body } = await this.#ask(question);
    const requests = [prepared(question)];
    // Times in it have as many digits, the token's own id as many letters.
    const expected = { status: 201, bytesMin: body.length };
    return this.#besideBare(what, () => requests, expected, {
      bare: (durationMs) => tokens.signatures(durationMs),
      does: 'signatures of one thread',
    });
  }

  /** Tokens that the product has never seen: each signature has to be verified. */
  async differentTokens(tokens: AccountTokens): Promise<Row> {
    const what = `TokenReview, each of another ECDSA token, ${clients}`;
    const question = (): Question => ({ path: tokenReviews, body: reviewOf(tokens.next()) });
    const { body } = await this.#ask(question());
    requireAuthenticated(body);
    const requests = (): readonly PreparedRequest[] =>
      Array.from({ length: this.#context.scale.writesMax + slots }, () => prepared(question()));
    // An answer that says that the token does not hold would lack the user.
    const expected = { status: 201, bytesMin: body.length };
    return this.#besideBare(what, requests, expected, {
      bare: (durationMs) => tokens.verifications(durationMs),
      does: 'verifications of one thread',
    });
  }

  /** The same token again and again. */
  async sameToken(token: string): Promise<Row> {
    const question = { path: tokenReviews, body: reviewOf(token) };
    requireAuthenticated((await this.#ask(question)).body);
    return this.#besideReads(`TokenReview of one token, ${clients}`, question);
  }

  async accessReviews(token: string): Promise<Row> {
    const resourceAttributes = { verb: 'get', version: 'v1', resource: 'configmaps', namespace };
    const question = { path: accessReviews, body: jsonBody({ spec: { resourceAttributes } }), token };
    const { status }: { readonly status: { readonly allowed: boolean } } = JSON.parse(
      (await this.#ask(question)).body.toString(),
    );
    if (!status.allowed) throw new Error('the access that is asked about is not allowed');
    return this.#besideReads(`SelfSubjectAccessReview by RBAC, ${clients}`, question);
  }

  /** In turns with what one thread does at most of the work that cannot be avoided. */
  async #besideBare(
    what: string,
    requestsOf: () => readonly PreparedRequest[],
    expected: Expected,
    { bare, does }: { readonly bare: (durationMs: number) => number; readonly does: string },
  ): Promise<Row> {
    const { scale, progress } = this.#context;
    progress(what);
    using side = new Connections(await this.#product.http2(connections));
    const [ours = [], limit = []] = await takeTurns(scale.rounds, [
      () => {
        const requests = requestsOf();
        return sampled(this.#product, () => this.#load(side, requests, expected));
      },
      async () => ({ rate: bare(scale.roundMs / 2) }),
    ]);
    return {
      what,
      unit: '/s',
      measured: ratesOf(ours),
      ceiling: ratesOf(limit),
      ratio: ratioTo(ours, limit),
      notes: [`${cpuOf(ours)}; the ceiling is ${does}`],
    };
  }

  /** In turns with reads of one object, and with the bare server that gives the same answer. */
  async #besideReads(what: string, question: Question): Promise<Row> {
    const { scale, progress } = this.#context;
    progress(what);
    const answer = await this.#ask(question);
    await this.#ceiling.answer(question.path, cannedFrom(answer));
    // The time of day is in it.
    const expected = { status: 201, bytesMin: answer.body.length };
    const requests = [prepared(question)];
    using ours = new Connections(await this.#product.http2(connections, this.#accessOf(question)));
    using bare = new Connections(await this.#ceiling.http2(connections));
    using reads = await this.#reads();
    const [samples = [], limit = [], gets = []] = await takeTurns(scale.rounds, [
      () => sampled(this.#product, () => this.#load(ours, requests, expected)),
      () => sampled(this.#ceiling, () => this.#load(bare, requests, expected)),
      () => sampled(this.#product, () => reads.read({ durationMs: scale.roundMs })),
    ]);
    return {
      what,
      unit: '/s',
      measured: ratesOf(samples),
      ceiling: ratesOf(limit),
      ratio: ratioTo(samples, limit),
      beside: { ratio: ratioTo(samples, gets), of: 'GET of one object by as many clients' },
      notes: [
        `${cpuOf(samples)}, ceiling ${shortNumber(medianCpu(limit) ?? 0)} µs, GET ${shortNumber(medianCpu(gets) ?? 0)} µs`,
      ],
    };
  }

  async #reads() {
    const path = `${configMaps}/one`;
    const { status } = await this.#product.api.send(path);
    if (status === 404) await create(this.#product.api, configMaps, JSON.parse(oneConfigMap));
    const answer = await learn(this.#product, this.#ceiling, { path });
    return http2Reader(this.#product, { path }, answer, { connections, streams: slots / connections });
  }

  #accessOf({ token }: Question) {
    return token === undefined ? this.#product.access : this.#product.accessWith({});
  }

  /** As a client of the administrator does: what is asked does not depend on who asks. */
  #ask({ path, body, token }: Question): Promise<ApiResponse> {
    const headers = { ...json, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    return this.#product.api.expect(201, path, { method: 'POST', headers, body });
  }

  #load(side: Connections, requests: readonly PreparedRequest[], expected: Expected): Promise<LoadResult> {
    const { scale } = this.#context;
    return runLoad({
      slots,
      durationMs: scale.roundMs,
      // Of different requests none is sent twice.
      ...(requests.length > 1 && { requestsMax: requests.length }),
      expected,
      send(slot, turn, listener) {
        const request = requests[turn % requests.length];
        if (request) side.at(slot)?.send(request, listener);
      },
    });
  }
}

const oneConfigMap = configMapBody({ name: 'one', namespace }).toString();

const reviewOf = (token: string): Buffer => jsonBody({ spec: { token } });

function prepared({ path, body, token }: Question): PreparedRequest {
  const repeated = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return new PreparedRequest({ method: 'POST', path, headers: json, repeated, body });
}

function requireAuthenticated(body: Buffer): void {
  const { status }: { readonly status: { readonly authenticated?: boolean } } = JSON.parse(body.toString());
  if (status.authenticated !== true) throw new Error(`the token that is reviewed does not hold: ${body}`);
}

const cpuOf = (samples: readonly Sample[]): string => `CPU per request ${shortNumber(medianCpu(samples) ?? 0)} µs`;
