import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

/** The resolved URL of each import of a node's start, by Node alone or with `registerModuleResolver`. */
function resolvedImports(withResolver: boolean): Record<string, string> {
  const script = `
    import { registerHooks } from 'node:module';
    const { registerModuleResolver } = await import(${JSON.stringify(new URL('./own-modules.ts', import.meta.url).href)});
    if (${withResolver}) registerModuleResolver();
    const found = {};
    registerHooks({ resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      found[specifier + ' from ' + context.parentURL] = resolved.url + ' ' + resolved.format;
      return resolved;
    } });
    await import(${JSON.stringify(new URL('../main/run-node.ts', import.meta.url).href)});
    console.log(JSON.stringify(found));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
  });
  assert.equal(stderr, '');
  return JSON.parse(stdout) as Record<string, string>;
}

test('every module of a node is resolved to the same URL as by Node', () => {
  const alone = resolvedImports(false);
  assert.ok(Object.keys(alone).length > 500);
  assert.deepEqual(resolvedImports(true), alone);
});
