import { methodNotAllowed, noSuchPath } from '../meta/status-error.ts';
import type { Exchange } from './exchange.ts';

/** Serves one path. May throw or reject with a StatusError. */
type PathHandler = (exchange: Exchange, path: string) => void | Promise<void>;

interface Route {
  readonly methods: readonly string[];
  readonly handler: PathHandler;
}

/** Routes of paths that are not resources: health, discovery, version. Paths are passed without their query. */
export class PathRouter {
  readonly #exact = new Map<string, Route>();
  /** Longest first. */
  #prefixes: (readonly [prefix: string, route: Route])[] = [];

  /** Serves exactly this path. `methods` in upper case; GET includes HEAD. */
  exact(path: string, methods: readonly string[], handler: PathHandler): this {
    this.#exact.set(path, { methods, handler });
    return this;
  }

  /** Serves every path with this prefix for which there is no longer route. */
  prefix(path: string, methods: readonly string[], handler: PathHandler): this {
    this.#prefixes.push([path, { methods, handler }]);
    this.#prefixes.sort(([a], [b]) => b.length - a.length);
    return this;
  }

  /** All exact paths. */
  get paths(): readonly string[] {
    return [...this.#exact.keys()];
  }

  /** Throws NotFound for an unknown path and MethodNotAllowed for a method that the path does not support. */
  find(method: string, path: string): PathHandler {
    const route = this.#exact.get(path) ?? this.#prefixes.find(([prefix]) => path.startsWith(prefix))?.[1];
    if (!route) throw noSuchPath();
    if (route.methods.includes(method === 'HEAD' ? 'GET' : method)) return route.handler;
    const allow = route.methods.flatMap((each) => (each === 'GET' ? ['GET', 'HEAD'] : [each]));
    throw methodNotAllowed('the server does not allow this method on the requested resource', allow);
  }
}
