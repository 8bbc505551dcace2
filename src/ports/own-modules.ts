// Resolves our own modules without Node's general algorithm, which looks for `package.json` files, symbolic links and packages at each
// import. That costs 20 ms per thread, and 7 MB for the optimizing compiler once the resolver counts as hot. Bundles do not need it.
import { registerHooks } from 'node:module';

/** The folder of the sources. */
const root = new URL('..', import.meta.url).href;
const extension = '.ts';

/** Call it in each thread before that thread loads other modules of ours. */
export function registerModuleResolver(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL } = context;
      const url = parentURL?.startsWith(root) ? sourceModule(specifier, parentURL) : null;
      return url === null
        ? next(specifier, context)
        : { url, format: 'module-typescript', shortCircuit: true };
    },
  });
}

function sourceModule(specifier: string, parentUrl: string): string | null {
  if (!specifier.endsWith(extension)) return null;
  if (specifier.startsWith('#')) return root + specifier.slice(1);
  return specifier.startsWith('.') ? new URL(specifier, parentUrl).href : null;
}
