// Loaded before a test file. node:test finds the test that an uncaught error belongs to with a hook that is called for every promise:
// with it a promise costs twenty times as much as in a node. Here AsyncLocalStorage finds the test. Plain JavaScript, since worker threads
// of the tests load this file too.
import hooks, { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) replaceHook();

function replaceHook() {
  const { createHook, executionAsyncId } = hooks;
  const running = new AsyncLocalStorage();
  let noteTest;
  // node:test takes both functions when it is loaded, and creates its hook before the first test.
  hooks.createHook = ({ init }) => {
    noteTest = init;
    return { enable() {}, disable() {} };
  };
  hooks.executionAsyncId = () => running.getStore()?.asyncId() ?? executionAsyncId();
  process.getBuiltinModule('node:test');
  Object.assign(hooks, { createHook, executionAsyncId });

  const { runInAsyncScope } = AsyncResource.prototype;
  AsyncResource.prototype.runInAsyncScope = function (run, thisArg, ...args) {
    const { name } = this.constructor;
    if (noteTest === undefined || !/^(Test|Suite|TestHook)$/.test(name))
      return runInAsyncScope.call(this, run, thisArg, ...args);
    noteTest(this.asyncId(), name, 0, this);
    return runInAsyncScope.call(this, () => running.run(this, () => run.apply(thisArg, args)));
  };
}
