// Bundles the sources into `built/node`, one file for each thread and one for each feature that is loaded later: a node that runs
// from them starts in two thirds of the processor time and with 20 MB less, since Node finds, links and keeps ten modules instead of
// nine hundred. Run by npm after an install in a checkout and before a package is made. Names and lines stay readable, the maps
// lead to the sources (`NODE_OPTIONS=--enable-source-maps`), and bin/code-folder.js runs the sources themselves after a change.
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Rolldown } from 'vite';
import { replaceFolder } from './replace-folder.ts';

const checkout = fileURLToPath(new URL('..', import.meta.url));
const { codeFolder, sourcesFile } = (await import(`${checkout}bin/code-folder.js`)) as {
  codeFolder(): string;
  sourcesFile: string;
};
const target = `${checkout}built/node`;
const source = (module: string): string => `${checkout}src/${module}.ts`;

const divan = 'main/divan';
const node = 'main/run-node';
/** The modules that processes and threads load first. Each is bundled alone: a module may be in several bundles, as threads share no state. */
const entries = [
  divan,
  'backup/host/backup-thread',
  'index/host/index-thread',
  'kv/disk/hosts/disk-worker',
  'kv/heavy/hosts/heavy-worker',
  'kv/host/data-thread',
  'main/query-thread',
  'query/javascript/hosts/javascript-thread',
  'testing/testing',
  'xdcr/host/xdcr-thread',
];

if (codeFolder() !== 'built/node' || process.argv.includes('--anew')) await rebuild();

async function rebuild(): Promise<void> {
  const folder = `${target}.${process.pid}`;
  mkdirSync(folder, { recursive: true });
  const sources = new Set(['package-lock.json', 'tools/build-node.ts']);
  for (const entry of entries) await bundle(entry, folder, sources);
  writeFileSync(`${folder}/${sourcesFile}`, stateOf([...sources].sort()));
  replaceFolder(folder, target, () => codeFolder() === 'built/node');
}

async function bundle(entry: string, folder: string, sources: Set<string>): Promise<void> {
  await build({
    root: checkout,
    configFile: false,
    logLevel: 'error',
    plugins: [{ name: 'divan', generateBundle: toOneBytePerCharacter, buildEnd: recordModules(sources) }],
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      sourcemap: true,
      target: 'node24',
      rolldownOptions: {
        input: { [basename(entry)]: source(entry) },
        output: {
          comments: false,
          // Vite makes `var` of `const`. V8 then reads and checks a constant each time that a loop over bytes compares with it.
          topLevelVar: false,
          sourcemapExcludeSources: true,
          entryFileNames: '[name].js',
          chunkFileNames: '[name]-[hash].js',
          codeSplitting: { includeDependenciesRecursively: false, groups: [{ name: groups() }] },
        },
      },
    },
  });
}

type ModuleContext = Rolldown.ChunkingContext;

/**
 * The modules that the start of a node loads are in three files: those of the command line, those that other commands load, too, and
 * the rest. Without this there were eighty.
 */
function groups(): (module: string, context: ModuleContext) => string | null {
  let found: { divan: Set<string>; node: Set<string>; others: Set<string> } | null = null;
  return (module, context) => {
    if (context.getModuleInfo(source(node)) === null) return null;
    found ??= {
      divan: reached(source(divan), context),
      node: reached(source(node), context),
      others: laterThanNode(context),
    };
    // The entry awaits the modules of a command at its top level. If these imported the entry's file, they would wait for it in turn.
    if (module === source(divan)) return null;
    if (found.divan.has(module)) return 'command-line';
    if (!found.node.has(module)) return null;
    return found.others.has(module) ? 'shared' : 'node';
  };
}

/** What `from` imports, itself or through others. */
function reached(from: string, context: ModuleContext): Set<string> {
  const found = new Set<string>();
  const open = [from];
  for (let module = open.pop(); module !== undefined; module = open.pop()) {
    if (found.has(module)) continue;
    found.add(module);
    open.push(...(context.getModuleInfo(module)?.importedIds ?? []));
  }
  return found;
}

/** The modules that dynamic imports load, without those imports that lead to the start of a node. */
function laterThanNode(context: ModuleContext): Set<string> {
  const found = new Set<string>();
  const open = [source(divan)];
  const seen = new Set<string>();
  for (let module = open.pop(); module !== undefined; module = open.pop()) {
    if (seen.has(module)) continue;
    seen.add(module);
    const { importedIds = [], dynamicallyImportedIds = [] } = context.getModuleInfo(module) ?? {};
    open.push(...importedIds, ...dynamicallyImportedIds);
    for (const late of dynamicallyImportedIds) {
      const modules = reached(late, context);
      if (!modules.has(source(node))) for (const each of modules) found.add(each);
    }
  }
  return found;
}

/** V8 keeps the text of the code, in two bytes per character if one does not fit into one. */
function toOneBytePerCharacter(_options: unknown, files: Rolldown.OutputBundle): void {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  for (const file of Object.values(files))
    if (file.type === 'chunk') file.code = file.code.replace(/[^\0-\xff]/g, escaped);
}

function recordModules(sources: Set<string>) {
  return function (this: Rolldown.PluginContext): void {
    for (const module of this.getModuleIds())
      if (module.startsWith(`${checkout}src/`)) sources.add(relative(checkout, module));
  };
}

function stateOf(sources: string[]): string {
  const lines = sources.map((file) => {
    const { size, mtimeMs } = statSync(`${checkout}${file}`);
    return `${size} ${mtimeMs} ${file}\n`;
  });
  return lines.join('');
}
