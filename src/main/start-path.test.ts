// The modules that a node loads at its start: each one costs memory and start time.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

/** The specifiers of our modules that loading `module` imports. Outside a worker some of these modules throw. */
function importsOf(module: string): string[] {
  const script = `
    import { registerHooks } from 'node:module';
    const found = new Set();
    registerHooks({ resolve(specifier, context, next) {
      if (context.parentURL?.includes('/src/')) found.add(specifier);
      return next(specifier, context);
    } });
    await import(${JSON.stringify(new URL(module, import.meta.url).href)}).catch(() => {});
    console.log(JSON.stringify([...found]));`;
  const args = ['--input-type=module', '-e', script];
  return JSON.parse(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout) as string[];
}

/** Node's built-in modules that `module` loads. */
function builtinsOf(module: string): string[] {
  const script = `
    await import(${JSON.stringify(new URL(module, import.meta.url).href)}).catch(() => {});
    console.log(JSON.stringify(process.moduleLoadList));`;
  const args = ['--input-type=module', '-e', script];
  return JSON.parse(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout) as string[];
}

const packagesIn = (imports: string[]): string[] => imports.filter((name) => !/^(node:|[.#])/.test(name));

test('the main thread loads no package', () => {
  assert.deepEqual(packagesIn(importsOf('run-node.ts')), []);
});

test('the main thread loads rarely used features on demand', () => {
  const imports = importsOf('run-node.ts');
  assert.ok(imports.includes('#cluster/manager.ts'));
  const late = /\/(openapi|settings\/catalog|api-page|init-file|run-cloud)\.ts$/;
  assert.deepEqual(
    imports.filter((name) => late.test(name)),
    [],
  );
});

test('the threads of data and disk load no package, and nothing of the cluster manager', () => {
  for (const thread of ['../kv/host/data-thread.ts', '../kv/disk/hosts/disk-worker.ts']) {
    const imports = importsOf(thread);
    assert.ok(imports.includes('#ports/spare-memory.ts'), thread);
    assert.deepEqual(packagesIn(imports), [], thread);
    assert.deepEqual(
      imports.filter((name) => /^#(cluster|http|main|cloud|metrics|replog|client)\//.test(name)),
      [],
      thread,
    );
  }
});

test('no thread with an HTTP server loads the fetch client of Node', () => {
  for (const thread of ['run-node.ts', '../http/listener.host.ts', '../query/host/query-host.ts']) {
    const builtins = builtinsOf(thread);
    assert.ok(builtins.includes('NativeModule http'), thread);
    assert.deepEqual(
      builtins.filter((name) => name.includes('undici')),
      [],
      thread,
    );
  }
});
