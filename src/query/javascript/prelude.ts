// JavaScript that runs in the sandbox before a library: it calls the library's functions with JSON, and describes what they throw. It
// keeps what it needs of the built-in objects, since the library may change them, and removes shared memory, which the engine does not
// count.

/** The value of this expression is a function of a name, the arguments and the positions of undefined ones. It returns JSON. */
export const prelude = `((parse, stringify, PromiseType, ErrorType, text) => {
  globalThis.N1QL = () => {
    throw new ErrorType('N1QL(): statements inside JavaScript functions are not supported by this node');
  };
  delete globalThis.SharedArrayBuffer;
  delete globalThis.Atomics;
  const builtIn = new Map(Object.getOwnPropertyNames(globalThis).map((name) => [name, globalThis[name]]));
  const isBuiltIn = builtIn.get.bind(builtIn);
  // The library may define toJSON() for all objects, so that stringify() returns undefined.
  const json = (object) => stringify(object) ?? '{}';
  const describe = (error) =>
    error instanceof ErrorType
      ? json({ thrown: text(error), stack: text(error.stack) })
      : json({ thrown: error === undefined ? null : error });
  return (name, values, undefinedAt) => {
    const called = globalThis[name];
    if (typeof called !== 'function' || isBuiltIn(name) === called) return '{"absent":true}';
    try {
      const list = parse(values);
      for (const at of parse(undefinedAt)) list[at] = undefined;
      const value = called(...list);
      return value instanceof PromiseType ? '{"promise":true}' : json({ value });
    } catch (error) {
      return describe(error);
    }
  };
})(JSON.parse, JSON.stringify, Promise, Error, String)`;
