// Finds our own modules for Node. Its general way looks for manifests, links and packages on each import of a start,
// until it counts as hot: the optimizing compiler that is then loaded for it costs a node 7 MB, the walk itself 20 ms a thread.
import { registerHooks } from 'node:module';
import { extname } from 'node:path';

const extension = extname(import.meta.url);
/** The sources, or what the published package has in their place. */
const root = new URL('..', import.meta.url).href;
const format = extension === '.ts' ? 'module-typescript' : 'module';

/** For the calling thread, before it loads others of our modules. */
export function findOwnModules(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const { parentURL } = context;
      const url = parentURL?.startsWith(root) ? ownModule(specifier, parentURL) : null;
      return url === null ? next(specifier, context) : { url, format, shortCircuit: true };
    },
  });
}

/** The compiler leaves names below `#` as they are, so that they end in `.ts` in the package, too. */
function ownModule(specifier: string, parentUrl: string): string | null {
  if (specifier.startsWith('#') && specifier.endsWith('.ts'))
    return root + specifier.slice(1, -'.ts'.length) + extension;
  if (specifier.startsWith('.') && specifier.endsWith(extension)) return new URL(specifier, parentUrl).href;
  return null;
}
