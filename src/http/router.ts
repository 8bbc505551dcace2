// The table of routes: a tree of path tokens. A literal token takes precedence over a parameter, and a path that fails under the
// literal is tried under the parameter. A last parameter with a star, `:names*`, matches all remaining tokens, at least one.
// Built once at start; registering routes in a framework takes longer.
import { assert } from '#base/assert.ts';
import type { BoundRoute, Method, Params } from '#contract/route.ts';

export interface Match {
  readonly bound: BoundRoute;
  readonly params: Params;
}

interface Branch {
  readonly literal: Map<string, Branch>;
  parameter: Branch | null;
  /** A last parameter with a star. */
  readonly rest: Map<Method, BoundNames>;
  readonly routes: Map<Method, BoundNames>;
}

interface BoundNames {
  readonly bound: BoundRoute;
  readonly names: readonly string[];
}

const branch = (): Branch => ({ literal: new Map(), parameter: null, rest: new Map(), routes: new Map() });

export class Router {
  readonly #root = branch();

  constructor(routes: readonly BoundRoute[]) {
    for (const bound of routes) this.#add(bound);
  }

  match(method: string, tokens: readonly string[]): Match | null {
    return find(this.#root, method === 'HEAD' ? 'GET' : (method as Method), tokens, 0, []);
  }

  #add(bound: BoundRoute): void {
    const names: string[] = [];
    let at = this.#root;
    for (const token of bound.route.path.split('/').filter((part) => part !== '')) {
      if (token.endsWith('*')) {
        names.push(token.slice(1, -1));
        at.rest.set(bound.route.method, { bound, names });
        return;
      }
      if (token.startsWith(':')) {
        names.push(token.slice(1));
        at = at.parameter ??= branch();
      } else at = child(at, token);
    }
    assert(!at.routes.has(bound.route.method), `two routes for ${bound.route.method} ${bound.route.path}`);
    at.routes.set(bound.route.method, { bound, names });
  }
}

function child(parent: Branch, token: string): Branch {
  const existing = parent.literal.get(token);
  if (existing) return existing;
  const added = branch();
  parent.literal.set(token, added);
  return added;
}

/** The recursion depth is that of the deepest route, whatever the request contains. */
function find(
  at: Branch,
  method: Method,
  tokens: readonly string[],
  depth: number,
  values: readonly string[],
): Match | null {
  const token = tokens[depth];
  if (token === undefined) {
    const route = at.routes.get(method);
    return route ? { bound: route.bound, params: zip(route.names, values) } : null;
  }
  const literal = at.literal.get(token);
  const found = literal ? find(literal, method, tokens, depth + 1, values) : null;
  if (found) return found;
  const under = at.parameter && find(at.parameter, method, tokens, depth + 1, [...values, token]);
  const rest = at.rest.get(method);
  if (under || !rest) return under;
  return { bound: rest.bound, params: zip(rest.names, [...values, tokens.slice(depth).join('/')]) };
}

function zip(names: readonly string[], values: readonly string[]): Record<string, string> {
  const params: Record<string, string> = Object.create(null);
  names.forEach((name, index) => {
    params[name] = values[index] as string;
  });
  return params;
}
