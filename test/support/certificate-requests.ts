import assert from 'node:assert/strict';
import { until } from '../../src/base/waits-fixture.ts';
import type { OrchProcess } from './orch-process.ts';

interface Request {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly reason?: string; readonly message?: string }[];
  };
}

interface Asked {
  /** PEM. */
  readonly request: string;
  readonly signerName: string;
  readonly usages: readonly string[];
  readonly expirationSeconds?: number;
}

export const clientUsages = ['digital signature', 'key encipherment', 'client auth'];
export const servingUsages = ['digital signature', 'key encipherment', 'server auth'];

/** The certificate requests of a server in the dialect `orch`, as its administrator makes and approves them. */
export class CertificateRequests {
  readonly path = '/apis/certificates.orch.io/v1/certificatesigningrequests';
  readonly #server: OrchProcess;
  #count = 0;

  constructor(server: OrchProcess) {
    this.#server = server;
  }

  async get(name: string): Promise<Request> {
    return (await this.#server.get<Request>(`${this.path}/${name}`)).json;
  }

  /** Makes a request; gives its name. */
  async create({ request, ...asked }: Asked): Promise<string> {
    const name = `request-${++this.#count}`;
    const spec = { ...asked, request: Buffer.from(request).toString('base64') };
    const { status, text } = await this.#server.post(this.path, { metadata: { name }, spec });
    assert.equal(status, 201, text);
    return name;
  }

  /** Approves a request, unless a controller already has. */
  async approve(name: string): Promise<void> {
    const isApproved = async (): Promise<boolean> => {
      const request = await this.get(name);
      if (request.status?.conditions?.some(({ type }) => type === 'Approved')) return true;
      const conditions = [{ type: 'Approved', status: 'True', reason: 'Test' }];
      const approved = { ...request, status: { conditions } };
      const { status, text } = await this.#server.put(`${this.path}/${name}/approval`, approved);
      assert.ok(status === 200 || status === 409, text);
      return status === 200;
    };
    await until(isApproved, `${name} is not approved`);
  }

  /** The certificate of an approved request as PEM, once it is issued. */
  async issued(name: string): Promise<string> {
    let found: string | undefined;
    const isIssued = async (): Promise<boolean> => {
      found = (await this.get(name)).status?.certificate;
      return found !== undefined;
    };
    await until(isIssued, () => `${name} is not issued:\n${this.#server.log}`);
    return Buffer.from(found ?? '', 'base64').toString();
  }

  /** Makes and approves a request, and waits for its certificate. */
  async issue(asked: Asked): Promise<string> {
    const name = await this.create(asked);
    await this.approve(name);
    return this.issued(name);
  }
}
