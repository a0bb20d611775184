import assert from 'node:assert/strict';
import { createHmac, X509Certificate } from 'node:crypto';
import https from 'node:https';
import { until, within } from '../../src/base/waits-fixture.ts';
import { parseYaml } from '../../src/codec/yaml.ts';
import { type Shown, send } from './identity.ts';

/** The names of a dialect that a joining machine knows, as its documentation has them. */
interface JoinNames {
  readonly systemNamespace: string;
  readonly publicNamespace: string;
  readonly tokenType: string;
  readonly nodeTokensGroup: string;
  readonly certificates: string;
  readonly nodeSigner: string;
  readonly authentication: string;
  /** The key of the signatures of `cluster-info`. */
  readonly signingKey: (token: string) => string;
}

export const joinNames: Readonly<Record<'orch' | 'kubernetes', JoinNames>> = {
  orch: {
    systemNamespace: 'orch-system',
    publicNamespace: 'orch-public',
    tokenType: 'bootstrap.orch.io/token',
    nodeTokensGroup: 'system:bootstrappers:default-node-token',
    certificates: 'certificates.orch.io',
    nodeSigner: 'orch.io/apiserver-client-node-agent',
    authentication: 'authentication.orch.io',
    signingKey: (token) => token,
  },
  kubernetes: {
    systemNamespace: 'kube-system',
    publicNamespace: 'kube-public',
    tokenType: 'bootstrap.kubernetes.io/token',
    nodeTokensGroup: 'system:bootstrappers:kubeadm:default-node-token',
    certificates: 'certificates.k8s.io',
    nodeSigner: 'kubernetes.io/kube-apiserver-client-kubelet',
    authentication: 'authentication.k8s.io',
    signingKey: (token) => token.slice(token.indexOf('.') + 1),
  },
};

/** A CertificateSigningRequest as clients see it. */
interface SigningRequest {
  readonly spec: { readonly username: string; readonly groups: readonly string[] };
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
    readonly certificate?: string;
  };
}

/** A machine that knows a port, a bootstrap token and the names of a dialect, and nothing else. */
export class JoiningMachine {
  readonly port: number;
  readonly token: string;
  readonly names: JoinNames;
  /** What it trusts, once `cluster-info` was verified. */
  credentials = { ca: '' };

  constructor(port: number, token: string, names: JoinNames) {
    this.port = port;
    this.token = token;
    this.names = names;
  }

  get #id(): string {
    return this.token.slice(0, this.token.indexOf('.'));
  }

  /** The data of `cluster-info`, from a server that is not verified, without a credential. */
  clusterInfo(): Promise<Readonly<Record<string, string>>> {
    const path = `/api/v1/namespaces/${this.names.publicNamespace}/configmaps/cluster-info`;
    const { promise, resolve, reject } = Promise.withResolvers<Readonly<Record<string, string>>>();
    const options = { host: '127.0.0.1', port: this.port, path, rejectUnauthorized: false, agent: false };
    const request = https.get(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode === 200) resolve(JSON.parse(text).data ?? {});
        else reject(new Error(`${response.statusCode} ${text}`));
      });
    });
    request.on('error', reject);
    return within(promise, 'no answer to cluster-info');
  }

  /** Learns the authority of the cluster; gives its URL. Waits for the signature, and believes nothing without it. */
  async discover(): Promise<string> {
    let data: Readonly<Record<string, string>> = {};
    await until(
      async () => {
        data = await this.clusterInfo();
        return `jws-kubeconfig-${this.#id}` in data;
      },
      () => `cluster-info is not signed: ${Object.keys(data)}`,
    );
    const { kubeconfig = '', [`jws-kubeconfig-${this.#id}`]: signature = '' } = data;
    assert.ok(this.isSigned(kubeconfig, signature), 'the signature does not hold');
    const { value } = parseYaml(Buffer.from(kubeconfig));
    const { clusters } = value as { readonly clusters: readonly [{ readonly cluster: Record<string, string> }] };
    const { server = '', 'certificate-authority-data': authority = '' } = clusters[0].cluster;
    this.credentials = { ca: Buffer.from(authority, 'base64').toString() };
    return server;
  }

  /** Verifies a detached JWS (RFC 7515 appendix F) by the token; the algorithm is not the signature's choice. */
  isSigned(content: string, signature: string): boolean {
    const [header = '', payload, mac, ...rest] = signature.split('.');
    if (payload !== '' || rest.length > 0) return false;
    const { alg, kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
    const text = `${header}.${Buffer.from(content).toString('base64url')}`;
    const expected = createHmac('sha256', this.names.signingKey(this.token)).update(text).digest('base64url');
    return alg === 'HS256' && kid === this.#id && mac === expected;
  }

  get #requests(): string {
    return `/apis/${this.names.certificates}/v1/certificatesigningrequests`;
  }

  /** Asks for a client certificate; the status of the answer. */
  async request(name: string, pem: string, shown: Shown, signerName = this.names.nodeSigner): Promise<number> {
    const usages = ['digital signature', 'client auth'];
    const request = Buffer.from(pem).toString('base64');
    const body = { metadata: { name }, spec: { request, signerName, usages, expirationSeconds: 3_600 } };
    return (await send(this, 'POST', this.#requests, { shown, body })).status;
  }

  async readRequest(name: string, shown: Shown): Promise<SigningRequest> {
    const { status, text } = await send(this, 'GET', `${this.#requests}/${name}`, { shown });
    assert.equal(status, 200, text);
    return JSON.parse(text);
  }

  /** The certificate that was issued for a request, in PEM. */
  async certificate(name: string, shown: Shown): Promise<string> {
    let found: SigningRequest | undefined;
    await until(
      async () => {
        found = await this.readRequest(name, shown);
        return found.status.certificate !== undefined;
      },
      () => `no certificate for ${name}: ${JSON.stringify(found)}`,
    );
    const pem = Buffer.from(found?.status.certificate ?? '', 'base64').toString();
    assert.ok(new X509Certificate(pem));
    return pem;
  }
}
