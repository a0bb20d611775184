import { ApiClient } from './api-client.ts';
import { type ConnectOptions, Http2Client } from './http2-client.ts';
import { readKubeconfig } from './kubeconfig.ts';

/** Whatever answers the requests of clients of Kubernetes. */
export interface ApiSide {
  readonly api: ApiClient;
  /** Headers that say who asks; none where the connection does. */
  readonly credentials: Readonly<Record<string, string>>;
  http2(count: number): Promise<readonly Http2Client[]>;
}

/** Another API server, that runs already. */
export class Peer implements ApiSide, Disposable {
  readonly api: ApiClient;
  readonly credentials: Readonly<Record<string, string>>;
  /** What it says of itself, and where it is. */
  readonly name: string;
  readonly #access: ConnectOptions;

  private constructor(access: ConnectOptions, api: ApiClient, version: string) {
    this.#access = access;
    this.api = api;
    this.name = `${version} at port ${access.port}`;
    this.credentials = credentialsOf(access);
  }

  /** Reaches the server of a connection file. Throws where it does not answer, or not to this user. */
  static async reach(kubeconfig: string): Promise<Peer> {
    const access = readKubeconfig(kubeconfig);
    const api = new ApiClient(access);
    try {
      const { body } = await api.expect(200, '/version', { headers: credentialsOf(access) });
      const { gitVersion }: { readonly gitVersion: string } = JSON.parse(body.toString());
      return new Peer(access, api, gitVersion);
    } catch (cause) {
      api.close();
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`--peer: ${kubeconfig}: ${why}`, { cause });
    }
  }

  http2(count: number): Promise<readonly Http2Client[]> {
    return Promise.all(Array.from({ length: count }, () => Http2Client.connect(this.#access)));
  }

  [Symbol.dispose](): void {
    this.api.close();
  }
}

const credentialsOf = ({ token }: ConnectOptions): Readonly<Record<string, string>> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };
