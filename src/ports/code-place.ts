// Where the code of this process is: in `src`, or bundled in `built/node` (tools/build-node.ts). Other modules take paths from here:
// a bundle is in another folder than its modules, so a path that a module derives from its own `import.meta.url` is right in `src` or in the bundle only.
import { basename, extname } from 'node:path';

/** The bundles are files in one folder, each with the name of its module. */
export const isBundled = extname(import.meta.url) === '.js';

/** The folder of package.json: the checkout, or where npm installed the package. The relative path is the same from this file and from a bundle. */
export const packageRoot = new URL('../../', import.meta.url);

/** The file of a module by its path below `src`, without extension. It must be one of the entries of tools/build-node.ts. */
export const codeFile = (module: string): URL =>
  new URL(isBundled ? `./${basename(module)}.js` : `../${module}.ts`, import.meta.url);
