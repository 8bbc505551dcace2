// Resolves names for CURL(). A look-up cannot be cancelled: it occupies one of the few threads of Node's pool until it ends, even if the call
// that needed it has ended. So it counts towards the limit until then.
import { type LookupAddress, lookup as lookUp } from 'node:dns';
import { CurlError } from './curl-options.ts';

type Done = (error: Error | null, addresses: readonly LookupAddress[]) => void;

/** As `dns.lookup` with all addresses; with an error, Node passes nothing else. */
export type Resolve = (
  name: string,
  options: { readonly all: true },
  done: (error: Error | null, addresses?: LookupAddress[]) => void,
) => void;

/** Different names that are resolved at the same time. Node's pool has four threads for the whole process. */
const lookupsMax = 2;
/** Calls that wait for the same look-up, including calls that have ended before its answer. */
const lookupWaitersMax = 64;

export class Lookups {
  private readonly resolve: Resolve;
  private readonly waiting = new Map<string, Done[]>();

  constructor(resolve: Resolve = lookUp) {
    this.resolve = resolve;
  }

  /** Calls for the same name share one look-up. `done` gets a CurlError above a limit. */
  find(name: string, done: Done): void {
    const waiters = this.waiting.get(name);
    if (waiters === undefined && this.waiting.size < lookupsMax) this.start(name, [done]);
    else if (waiters === undefined)
      done(new CurlError(`more than ${lookupsMax} look-ups of names run at the same time`), []);
    else if (waiters.length < lookupWaitersMax) waiters.push(done);
    else done(new CurlError(`more than ${lookupWaitersMax} calls wait for the address of ${name}`), []);
  }

  private start(name: string, waiters: Done[]): void {
    this.waiting.set(name, waiters);
    this.resolve(name, { all: true }, (error, addresses) => {
      this.waiting.delete(name);
      for (const done of waiters) done(error ?? null, error ? [] : (addresses ?? []));
    });
  }
}
