// Builds the console into `built/console`, from where the node serves it. Run by `npm run build:console`, and by `npm ci`.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const output = fileURLToPath(new URL('../built/console/', import.meta.url));

/** Writes a compressed form beside each file, so that the node compresses nothing. */
const compressed: Plugin = {
  name: 'compressed',
  closeBundle() {
    for (const name of globSync('**/*.{html,js,css}', { cwd: output })) {
      writeFileSync(`${output}${name}.gz`, gzipSync(readFileSync(`${output}${name}`), { level: 9 }));
    }
  },
};

// biome-ignore lint/style/noDefaultExport: Vite reads its configuration from the default export.
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/ui/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  plugins: [compressed],
  build: {
    outDir: output,
    emptyOutDir: true,
    target: 'es2023',
    // The content policy allows no images and fonts inside of style sheets.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
  },
});
