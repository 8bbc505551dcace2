// How Vite builds the console of a node and that of the cloud in one build, so that both load the same files for the code that they share;
// tools/build-console.ts runs Vite.
import { defineConfig } from 'vite';

// biome-ignore lint/style/noDefaultExport: Vite reads its configuration from the default export.
export default defineConfig({
  base: '/ui/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2023',
    // The Content-Security-Policy allows no images and fonts inside of style sheets.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: ['index.html', 'cloud.html'].map((page) => new URL(page, import.meta.url).pathname),
    },
    license: { fileName: 'licenses.md' },
  },
});
